-- Replays prepared requests ("METHOD PATH CALLER" a line, and maybe a body in JSON; the caller is a token,
-- "cookie:NAME=VALUE", or "-" for none) in a loop, each thread from a place of its own, and prints one line of JSON at
-- the end. The arguments are the file, the number of threads, and maybe the status that the answers have to have.
local threads = {}

function setup(thread)
  thread:set("place", #threads)
  threads[#threads + 1] = thread
end

function init(args)
  prepared, next_one, sent, others = {}, 0, 0, 0
  for line in io.lines(args[1]) do
    local method, path, caller, body = line:match("^(%S+) (%S+) (%S+) ?(.*)$")
    local headers = { Host = wrk.headers["Host"] }
    local cookie = caller:match("^cookie:(.*)$")
    if cookie then
      headers["Cookie"] = cookie
      headers["Sec-Fetch-Site"] = "same-origin" -- as a browser sends it with a vote
    elseif caller ~= "-" then
      headers["Authorization"] = "Bearer " .. caller
    end
    if body ~= "" then
      headers["Content-Type"] = "application/json"
    end
    prepared[#prepared + 1] = wrk.format(method, path, headers, body ~= "" and body or nil)
  end
  share = math.floor(#prepared / args[2])
  next_one = place * share
  if args[3] then
    local wished = tonumber(args[3])
    response = function(status)
      if status ~= wished then
        others = others + 1
      end
    end
  end
end

function request()
  next_one = next_one % #prepared + 1
  sent = sent + 1
  return prepared[next_one]
end

function done(summary, latency)
  local e, others, repeated = summary.errors, 0, 0
  for _, thread in ipairs(threads) do
    others = others + thread:get("others")
    repeated = repeated + math.max(0, thread:get("sent") - thread:get("share"))
  end
  io.write(string.format('{"requests":%d,"seconds":%f,"errors":%d,"p50_ms":%f,"p99_ms":%f,"others":%d,"repeated":%d}\n',
    summary.requests, summary.duration / 1e6, e.status + e.connect + e.read + e.write + e.timeout,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3, others, repeated))
end
