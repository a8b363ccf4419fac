// The pages of members: their routes, and what begins with them.
import "./styles/base.css";
import "./styles/parts.css";
import "./styles/forms.css";
import "./styles/pages.css";
import { submit } from "./pages/submit.tsx";
import { startApp } from "./parts/app.tsx";

startApp([{ pattern: /^\/submit$/, page: submit }]);
