import { Button, Group, NavLink, Select, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { CopyButton } from "../../../shared/copy.tsx";
import { EmptyState } from "../../../shared/empty-state.tsx";
import { ErrorState } from "../../../shared/error-state.tsx";
import { formatBytes, formatTime } from "../../../shared/format.tsx";
import { Icon } from "../../../shared/icon.tsx";
import { LoadingState } from "../../../shared/loading-state.tsx";
import { saveFile } from "../../../shared/save-file.ts";
import { usePageState } from "../../../shared/use-list.ts";
import { shortId, versionsQuery } from "../queries.ts";
import { WorkerFrame } from "../worker-frame.tsx";
import type { ScriptPath } from "../queries.ts";
import { CodeViewer } from "./code-editor.tsx";
import { modulesQuery, type Module } from "./modules.ts";

export default function CodePage() {
  return <WorkerFrame tab="code">{(path) => <Code path={path} />}</WorkerFrame>;
}

interface ComparedFile {
  name: string;
  module: Module | undefined;
  /** The module of the version to compare with. */
  earlier: Module | undefined;
}

function Code({ path }: { path: ScriptPath }) {
  const [{ version, compare, module }, change] = usePageState({ version: "", compare: "", module: "" });
  const { data: versions = [] } = useQuery(versionsQuery(path));
  const code = useQuery(modulesQuery(path, version));
  const earlier = useQuery({ ...modulesQuery(path, compare), enabled: compare !== "" });
  const choices = versions.map(({ id, number, metadata }) => ({
    value: id,
    label: `Version ${number} (${shortId(id)}), ${formatTime(metadata.created_on)}`,
  }));
  const error = code.error ?? earlier.error;
  const isReady = code.data !== undefined && (compare === "" || earlier.data !== undefined);
  const names = [...new Set([...(code.data ?? []), ...(compare === "" ? [] : (earlier.data ?? []))].map(nameOf))];
  const files = names.map((name): ComparedFile => ({
    name,
    module: code.data?.find((item) => item.name === name),
    earlier: earlier.data?.find((item) => item.name === name),
  }));
  const shown = files.find(({ name }) => name === module) ?? files[0];

  return (
    <Stack gap="md">
      <div className="rp-toolbar">
        <Select
          aria-label="Version"
          size="xs"
          data={[{ value: "", label: "Deployed version" }, ...choices]}
          value={version}
          w={330}
          maw="100%"
          onChange={(value) => change({ version: value ?? "" })}
        />
        <Select
          aria-label="Compare with"
          size="xs"
          data={[{ value: "", label: "Compare with…" }, ...choices]}
          value={compare}
          w={330}
          maw="100%"
          onChange={(value) => change({ compare: value ?? "" })}
        />
      </div>
      {error !== null && <ErrorState error={error} />}
      {error === null && !isReady && <LoadingState rows={8} />}
      {isReady && shown === undefined && (
        <EmptyState icon="code" title="This version has no modules">
          It serves static assets only.
        </EmptyState>
      )}
      {isReady && shown !== undefined && (
        <div className="rp-workers-files">
          <nav aria-label="Modules">
            {files.map((file) => (
              <NavLink
                key={file.name}
                component="button"
                type="button"
                label={file.name}
                description={describe(file, compare !== "")}
                active={file === shown}
                {...(file === shown && { "aria-current": "true" as const })}
                onClick={() => change({ module: file.name })}
              />
            ))}
          </nav>
          <File file={shown} isComparing={compare !== ""} />
        </div>
      )}
    </Stack>
  );
}

const nameOf = ({ name }: Module) => name;

function describe({ module, earlier }: ComparedFile, isComparing: boolean): string {
  if (module === undefined) return "Removed";
  const size = `${formatBytes(module.size)}${module.isMain ? ", main" : ""}`;
  if (!isComparing) return size;
  if (earlier === undefined) return `${size}, added`;
  return earlier.text === module.text && earlier.size === module.size ? `${size}, unchanged` : `${size}, modified`;
}

function File({ file: { name, module, earlier }, isComparing }: { file: ComparedFile; isComparing: boolean }) {
  const isText = (module ?? earlier)?.text !== undefined;
  return (
    <section aria-label={name}>
      <Group justify="space-between" gap="xs" mb="xs">
        <Text className="rp-mono">{name}</Text>
        {module?.text !== undefined && (
          <Group gap={4}>
            <CopyButton value={module.text} label={`Copy ${name}`} />
            <Button
              variant="default"
              leftSection={<Icon name="download" size={14} />}
              onClick={() => saveFile(module.text!, name.split("/").at(-1)!)}
            >
              Download
            </Button>
          </Group>
        )}
      </Group>
      {isText ? (
        <CodeViewer
          name={name}
          text={module?.text ?? ""}
          {...(isComparing && { before: earlier?.text ?? "" })}
          key={name}
        />
      ) : (
        <EmptyState icon="file" title="This module is not text" />
      )}
    </section>
  );
}
