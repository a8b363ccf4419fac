// What JavaScript adds to members' pages, on top of what it adds to every page. The forms work without any of it.
import "../reading/main.ts";
import "../styles/members.css";
import { startCopy, startLeft, startPasskeys } from "./account.ts";
import { startCard } from "./card.ts";
import { startDrafts } from "./draft.ts";
import { startFields } from "./fields.ts";
import { startFill } from "./fill.ts";
import { startLogo } from "./logo.ts";
import { startOfCategory } from "./of-category.ts";
import { startPreview } from "./preview.ts";
import { startSimilar } from "./similar.ts";
import { startTags } from "./tags.ts";

const ofAccount = [startPasskeys, startCopy, startLeft];
// The drafts come first: the others show what is in the form.
const ofProject = [startDrafts, startOfCategory, startLogo, startFields, startFill, startTags, startPreview, startCard, startSimilar];
for (const start of [...ofAccount, ...ofProject]) {
  try {
    start();
  } catch (error) {
    console.error(error);
  }
}
