// The pages that are opened seldom.
export { audit } from "./audit.tsx";
export { categories } from "./categories.tsx";
export { deliveries } from "./deliveries.tsx";
export { projects } from "./projects.tsx";
export { user } from "./user.tsx";
export { users } from "./users.tsx";
