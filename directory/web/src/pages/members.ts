// What those who take part need, in one bundle that others do not load.
export { SignIn } from "../parts/signin.tsx";
export { account } from "./account.tsx";
export { mine } from "./mine.tsx";
export { submit } from "./submit.tsx";
export { resetPage as reset, verifyPage as verify } from "./recovery.tsx";
