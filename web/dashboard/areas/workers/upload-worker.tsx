import { Button, FileButton, Group, Select, Text, TextInput } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useAccount } from "../../api/account.ts";
import { api } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { DropZone } from "../../shared/drop-zone.tsx";
import { FormModal } from "../../shared/form-modal.tsx";
import { formatBytes } from "../../shared/format.tsx";
import { useNotify } from "../../shared/use-notify.ts";

/** Content types of module parts; other files are data modules. */
const TYPES: Record<string, string> = {
  js: "application/javascript+module",
  mjs: "application/javascript+module",
  cjs: "application/javascript",
  json: "application/json",
  txt: "text/plain",
  html: "text/plain",
  wasm: "application/wasm",
  py: "text/x-python",
};
const typeOf = (name: string) => TYPES[name.split(".").at(-1)!.toLowerCase()] ?? "application/octet-stream";
const isScript = (name: string) => /\.m?js$/i.test(name);
/** An upload without bindings keeps those that the worker has. */
const KEPT_BINDINGS = [
  "plain_text",
  "json",
  "secret_text",
  "kv_namespace",
  "r2_bucket",
  "d1",
  "queue",
  "service",
  "send_email",
  "ai",
  "stream",
  "durable_object_namespace",
  "analytics_engine",
  "ratelimit",
  "secrets_store_secret",
  "version_metadata",
];
const MAIN_NAMES = ["index.js", "index.mjs", "worker.js", "worker.mjs", "main.js"];

/** Uploads modules as a new worker, or as a new version of `worker` that keeps its bindings. */
export function UploadWorker({
  worker,
  initialFiles,
  onClose,
}: {
  worker?: string;
  initialFiles: readonly File[];
  onClose: () => void;
}) {
  const { id: account } = useAccount();
  const navigate = useNavigate();
  const notify = useNotify();
  const [files, setFiles] = useState<readonly File[]>(initialFiles);
  const [name, setName] = useState(worker ?? nameFrom(initialFiles));
  const [chosenMain, setMain] = useState<string | null>(null);
  const [isSubmitted, setSubmitted] = useState(false);
  const scripts = files.map((file) => file.name).filter(isScript);
  const main = chosenMain ?? MAIN_NAMES.find((mainName) => scripts.includes(mainName)) ?? scripts[0] ?? null;

  function add(more: readonly File[]) {
    const names = new Set(more.map((file) => file.name));
    setFiles([...files.filter((file) => !names.has(file.name)), ...more]);
    if (name === "") setName(nameFrom(more));
  }

  async function run() {
    const path = { account_id: account, script_name: name.trim() };
    const body = new FormData();
    const metadata =
      worker === undefined
        ? {
            main_module: main,
            compatibility_date: new Date().toISOString().slice(0, 10),
            keep_bindings: KEPT_BINDINGS,
          }
        : { main_module: main };
    body.set("metadata", JSON.stringify(metadata));
    for (const file of files) body.set(file.name, new File([file], file.name, { type: typeOf(file.name) }));
    await (worker === undefined
      ? api.request("PUT", "/accounts/{account_id}/workers/scripts/{script_name}", { path, body })
      : api.request("PUT", "/accounts/{account_id}/workers/scripts/{script_name}/content", { path, body }));
    notify.success(worker === undefined ? `Worker ${path.script_name} uploaded` : "New version deployed");
    await queryClient.invalidateQueries({ queryKey: ["workers", account] });
    if (worker === undefined) void navigate({ to: `/workers/${path.script_name}` });
  }

  return (
    <FormModal
      title={worker === undefined ? "Upload worker" : "Upload and deploy version"}
      opened
      onClose={onClose}
      onSubmit={() => {
        setSubmitted(true);
        return name.trim() !== "" && main !== null && run();
      }}
    >
      {worker === undefined && (
        <TextInput
          label="Name"
          description="An existing worker with this name gets a new version."
          placeholder="my-worker"
          autoComplete="off"
          spellCheck={false}
          value={name}
          error={isSubmitted && name.trim() === "" && "Enter a name"}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
        />
      )}
      <DropZone onFiles={add}>
        <div className="rp-workers-drop">
          <Group justify="space-between" gap="xs">
            <Text fz="sm" c="dimmed">
              Drop modules here
            </Text>
            <FileButton multiple onChange={add} inputProps={{ "aria-label": "Modules" }}>
              {(props) => (
                <Button variant="default" {...props}>
                  Select files
                </Button>
              )}
            </FileButton>
          </Group>
          {files.length > 0 && (
            <ul>
              {files.map((file) => (
                <li key={file.name}>
                  <span className="rp-mono">{file.name}</span>{" "}
                  <span className="rp-dimmed">{formatBytes(file.size)}</span>
                </li>
              ))}
            </ul>
          )}
          {isSubmitted && main === null && (
            <Text fz="sm" c="var(--rp-bad)" role="alert">
              Select a JavaScript module: a .js or .mjs file
            </Text>
          )}
        </div>
      </DropZone>
      {scripts.length > 1 && (
        <Select
          label="Main module"
          data={scripts}
          value={main}
          onChange={setMain}
          comboboxProps={{ width: "target" }}
        />
      )}
    </FormModal>
  );
}

/** `my-worker` for my-worker.js; nothing for several files or a common name such as index.js. */
function nameFrom(files: readonly File[]): string {
  const [file] = files;
  if (file === undefined || files.length > 1 || MAIN_NAMES.includes(file.name)) return "";
  return file.name
    .replace(/\.[^.]+$/, "")
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, "-");
}
