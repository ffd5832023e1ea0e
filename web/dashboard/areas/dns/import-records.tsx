import { FileInput, Textarea } from "@mantine/core";
import { useState } from "react";
import { api } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { FormModal } from "../../shared/form-modal.tsx";
import { useNotify } from "../../shared/use-notify.ts";
import { dnsKeys, type Zone } from "./queries.ts";

/** Imports a zone file (RFC 1035 5): a file, or pasted text. */
export function ImportRecords({ zone, opened, onClose }: { zone: Zone; opened: boolean; onClose: () => void }) {
  const [file, setFile] = useState<File | null>(null);
  const [text, setText] = useState("");
  const [problem, setProblem] = useState<string>();
  const notify = useNotify();

  async function run() {
    const body = new FormData();
    body.set("file", file ?? new Blob([text]), file?.name ?? "zone.txt");
    const { recs_added: added, total_records_parsed: parsed } = await api.post("/zones/{zone_id}/dns_records/import", {
      path: { zone_id: zone.id },
      body,
    });
    notify.success(`${added} of ${parsed} records imported`);
    setFile(null);
    setText("");
    await queryClient.invalidateQueries({ queryKey: dnsKeys.records(zone.id) });
  }

  return (
    <FormModal
      title="Import records"
      opened={opened}
      onClose={onClose}
      size="lg"
      onSubmit={() => {
        const isEmpty = file === null && text.trim() === "";
        setProblem(isEmpty ? "Select a file or paste its text" : undefined);
        return !isEmpty && run();
      }}
    >
      <FileInput
        label="Zone file"
        description="In BIND format, as exported by other DNS providers. Existing records are kept."
        placeholder="Select a file"
        accept=".txt,.zone,.db,text/plain"
        clearable
        value={file}
        onChange={setFile}
        error={problem}
      />
      <Textarea
        label="Or paste its text"
        placeholder={`www  300  IN  A  192.0.2.1`}
        autosize
        minRows={5}
        maxRows={14}
        spellCheck={false}
        value={text}
        disabled={file !== null}
        styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)", fontSize: "0.75rem" } }}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
      />
    </FormModal>
  );
}
