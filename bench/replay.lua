-- Replays prepared requests ("METHOD PATH CALLER" a line; the caller is a token, "cookie:NAME=VALUE", or "-" for none) in
-- a loop, each thread from a place of its own, and prints one line of JSON at the end.
local threads = 0

function setup(thread)
  thread:set("place", threads)
  threads = threads + 1
end

function init(args)
  prepared, next_one = {}, 0
  for line in io.lines(args[1]) do
    local method, path, caller = line:match("^(%S+) (%S+) (%S+)$")
    local headers = { Host = wrk.headers["Host"] }
    local cookie = caller:match("^cookie:(.*)$")
    if cookie then
      headers["Cookie"] = cookie
      headers["Sec-Fetch-Site"] = "same-origin" -- as a browser sends it with a vote
    elseif caller ~= "-" then
      headers["Authorization"] = "Bearer " .. caller
    end
    prepared[#prepared + 1] = wrk.format(method, path, headers)
  end
  next_one = math.floor(place * #prepared / 2)
end

function request()
  next_one = next_one % #prepared + 1
  return prepared[next_one]
end

function done(summary, latency)
  local e = summary.errors
  io.write(string.format('{"requests":%d,"seconds":%f,"errors":%d,"p50_ms":%f,"p99_ms":%f}\n', summary.requests,
    summary.duration / 1e6, e.status + e.connect + e.read + e.write + e.timeout, latency:percentile(50) / 1e3,
    latency:percentile(99) / 1e3))
end
