import { createRoot } from "react-dom/client";
import { ChatPage } from "./page.tsx";
import "./style.css";

const root = document.querySelector("#root");
if (root !== null) createRoot(root).render(<ChatPage />);
