import "./app.css";
import { createRoot } from "react-dom/client";
import { loadAppInfo } from "./api/app-info.ts";
import { App } from "./app.tsx";
import { StartError } from "./shell/start-error.tsx";

const root = createRoot(document.getElementById("app")!);

function start(): void {
  loadAppInfo().then(
    () => root.render(<App />),
    (error: unknown) => root.render(<StartError error={error} onRetry={start} />),
  );
}

start();
