import { Alert, Button, Group, NumberInput, Textarea, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";
import { api } from "../../../api/client.ts";
import { ErrorState } from "../../../shared/error-state.tsx";
import { FormModal } from "../../../shared/form-modal.tsx";
import { formatBytes, formatTime } from "../../../shared/format.tsx";
import { Icon } from "../../../shared/icon.tsx";
import { LoadingState } from "../../../shared/loading-state.tsx";
import { saveFile } from "../../../shared/save-file.ts";
import type { KvKey } from "../queries.ts";

const VALUE = "/accounts/{account_id}/storage/kv/namespaces/{namespace_id}/values/{key_name}";
/** Larger values can be downloaded, but not edited. */
const MAX_EDITED_BYTES = 1_000_000;
/** Shortest time to live that the API accepts, in seconds. */
const MIN_TTL_S = 60;

interface NamespacePath {
  account_id: string;
  namespace_id: string;
}

interface StoredValue {
  blob: Blob;
  /** Undefined for a value that is not UTF-8 text, or too large to edit. */
  text: string | undefined;
}

/** Creates a key, or shows and edits the value of `entry`. */
export function ValueForm({
  path,
  entry,
  onClose,
  onSaved,
}: {
  path: NamespacePath;
  entry?: KvKey;
  onClose: () => void;
  onSaved: (name: string) => void;
}) {
  const { data: stored, error } = useQuery({
    queryKey: ["storage", "kv", path.account_id, path.namespace_id, "value", entry?.name],
    enabled: entry !== undefined,
    gcTime: 0,
    queryFn: async (): Promise<StoredValue> => {
      const response = await api.raw("GET", VALUE, { path: { ...path, key_name: entry!.name } });
      const blob = await response.blob();
      return { blob, text: blob.size > MAX_EDITED_BYTES ? undefined : await textOf(blob) };
    },
  });
  if (entry === undefined) return <Editor path={path} text="" onClose={onClose} onSaved={onSaved} />;
  if (stored?.text !== undefined)
    return <Editor path={path} entry={entry} text={stored.text} onClose={onClose} onSaved={onSaved} />;
  return (
    <FormModal title={entry.name} submitLabel="Close" opened onClose={onClose} onSubmit={async () => {}}>
      {error !== null && <ErrorState error={error} />}
      {error === null && stored === undefined && <LoadingState />}
      {stored !== undefined && (
        <>
          <Alert color="blue" variant="light" icon={<Icon name="info" size={18} />}>
            This value is {stored.blob.size > MAX_EDITED_BYTES ? "too large to edit here" : "binary data"} (
            {formatBytes(stored.blob.size)}).
          </Alert>
          <Group>
            <Button
              variant="default"
              leftSection={<Icon name="download" size={14} />}
              onClick={() => saveFile(stored.blob, entry.name.split("/").at(-1) ?? "value")}
            >
              Download
            </Button>
          </Group>
        </>
      )}
    </FormModal>
  );
}

function Editor({
  path,
  entry,
  text,
  onClose,
  onSaved,
}: {
  path: NamespacePath;
  entry?: KvKey;
  text: string;
  onClose: () => void;
  onSaved: (name: string) => void;
}) {
  const form = useForm({
    initialValues: {
      name: entry?.name ?? "",
      value: text,
      metadata: entry?.metadata === undefined || entry.metadata === null ? "" : JSON.stringify(entry.metadata, null, 2),
      ttl: "" as number | "",
    },
    validate: {
      name: (name) => (name === "" ? "Enter a name" : null),
      metadata: (metadata) =>
        metadata.trim() === "" || isJson(metadata) ? null : "Enter valid JSON, or leave this empty",
      ttl: (ttl) => (ttl === "" || ttl >= MIN_TTL_S ? null : `Enter at least ${MIN_TTL_S} seconds`),
    },
  });

  async function save() {
    const { name, value, metadata, ttl } = form.values;
    const body = new FormData();
    body.set("value", value);
    if (metadata.trim() !== "") body.set("metadata", metadata);
    await api.put(VALUE, {
      path: { ...path, key_name: name },
      body,
      query:
        ttl === ""
          ? entry?.expiration === undefined
            ? {}
            : { expiration: String(entry.expiration) }
          : { expiration_ttl: String(ttl) },
    });
    onSaved(name);
  }

  return (
    <FormModal
      title={entry === undefined ? "Create key" : "Edit value"}
      submitLabel={entry === undefined ? "Create key" : "Save value"}
      opened
      size="lg"
      onClose={onClose}
      onFieldErrors={form.setErrors}
      onSubmit={() => !form.validate().hasErrors && save()}
    >
      <TextInput
        label="Key"
        className="rp-storage-mono"
        readOnly={entry !== undefined}
        autoComplete="off"
        spellCheck={false}
        maxLength={512}
        {...(entry === undefined && { "data-autofocus": true })}
        {...form.getInputProps("name")}
      />
      <Textarea
        label="Value"
        className="rp-storage-mono"
        autosize
        minRows={6}
        maxRows={20}
        spellCheck={false}
        {...(entry !== undefined && { "data-autofocus": true })}
        {...form.getInputProps("value")}
      />
      <Textarea
        label="Metadata"
        description="JSON, returned with the key by list() and getWithMetadata()."
        className="rp-storage-mono"
        autosize
        minRows={1}
        maxRows={8}
        spellCheck={false}
        {...form.getInputProps("metadata")}
      />
      <NumberInput
        label="Time to live"
        description={
          entry?.expiration === undefined
            ? "In seconds. Leave this empty for a key that does not expire."
            : `In seconds. Leave this empty to keep the expiration at ${formatTime(entry.expiration * 1000)}.`
        }
        min={0}
        allowDecimal={false}
        hideControls
        {...form.getInputProps("ttl")}
      />
    </FormModal>
  );
}

async function textOf(blob: Blob): Promise<string | undefined> {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await blob.arrayBuffer());
  } catch {
    return undefined;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
