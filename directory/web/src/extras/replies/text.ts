// What the console says about saved replies.
export const y = {
  title: "Replies",
  choose: "Saved replies",
  none: { title: "No saved replies", why: "A saved reply is a text that reviewers choose for a decision." },
  add: "New reply",
  decision: "Decision",
  decisions: { reject: "Reject", request_changes: "Ask for changes", unpublish: "Take down" },
  text: "Text",
  textHint: "{title}, {owner} and {site} stand for the project's title, its owner's name and the name of this site.",
  saved: (name: string) => `The reply ${name} is saved.`,
  deleteWhy: "Texts that were sent stay as they are.",
  deleted: (name: string) => `The reply ${name} is deleted.`,
} as const;
