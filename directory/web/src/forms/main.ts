// What JavaScript adds to members' pages, beside what it adds to every page. The forms work without any of it.
import "../reading/main.ts";
import "../styles/members.css";
import { startCopy, startLeft, startPasskeys } from "./account.ts";

for (const start of [startPasskeys, startCopy, startLeft]) {
  try {
    start();
  } catch (error) {
    console.error(error);
  }
}
