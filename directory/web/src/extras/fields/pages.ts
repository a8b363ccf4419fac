// The pages of the fields, in a file of their own.
export { form } from "./form.tsx";
export { list } from "./list.tsx";
