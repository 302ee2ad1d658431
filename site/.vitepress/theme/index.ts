/** The look of the site: the default theme without its fonts, in the colours of the dashboard, and the playground. */
import DefaultTheme from "vitepress/theme-without-fonts";
import type { Theme } from "vitepress";
import { Playground } from "./Playground.ts";
import "./style.css";
import "./playground.css";

export default {
  extends: DefaultTheme,
  enhanceApp: ({ app }) => {
    app.component("Playground", Playground);
  },
} satisfies Theme;
