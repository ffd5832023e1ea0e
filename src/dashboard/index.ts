export { createSignInHttp } from "./auth/sign-in-http.ts";
export { createDashboard, type Dashboard } from "./dashboard.ts";
