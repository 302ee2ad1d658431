export { app as default } from "./src/app.ts";
