import { Button, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useState } from "react";
import { useAccount } from "../../api/account.ts";
import { api } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { ConfirmButton } from "../../shared/confirm-button.tsx";
import { FormModal } from "../../shared/form-modal.tsx";
import { countOf } from "../../shared/text.ts";
import { useAction } from "../../shared/use-action.ts";
import { useNotify } from "../../shared/use-notify.ts";
import { forEachVideo, streamKeys, videoPath } from "./queries.ts";

/** Actions for several videos. */
export function BulkActions({ selected, onDone }: { selected: ReadonlySet<string>; onDone: () => void }) {
  const { id: account } = useAccount();
  const notify = useNotify();
  const [isScheduling, scheduling] = useDisclosure(false);
  const [date, setDate] = useState("");
  const invalidate = () => queryClient.invalidateQueries({ queryKey: streamKeys.videos(account) });
  const edit = (uid: string, body: object) =>
    api.post("/accounts/{account_id}/stream/{identifier}", { path: videoPath(account, uid), body });
  const access = useAction(
    (requireSignedURLs: boolean) => forEachVideo(selected, (uid) => edit(uid, { requireSignedURLs })),
    {
      done: (videoCount) => `${countOf(videoCount, "video")} saved`,
      failed: "Could not save all videos",
      invalidates: [streamKeys.videos(account)],
      onDone,
    },
  );

  async function remove() {
    const count = await forEachVideo(selected, (uid) =>
      api.delete("/accounts/{account_id}/stream/{identifier}", { path: videoPath(account, uid) }),
    ).finally(invalidate);
    notify.success(`${countOf(count, "video")} deleted`);
    onDone();
  }

  async function schedule() {
    const count = await forEachVideo(selected, (uid) =>
      edit(uid, { scheduledDeletion: date === "" ? null : new Date(date).toISOString() }),
    );
    notify.success(`${countOf(count, "video")} saved`);
    await invalidate();
    onDone();
  }

  return (
    <>
      <Button variant="default" loading={access.isPending} onClick={() => access.mutate(true)}>
        Require signed URLs
      </Button>
      <Button variant="default" loading={access.isPending} onClick={() => access.mutate(false)}>
        Allow public access
      </Button>
      <Button variant="default" onClick={scheduling.open}>
        Schedule deletion
      </Button>
      <ConfirmButton action="Delete videos" onConfirm={remove}>
        {countOf(selected.size, "video")} and all {selected.size === 1 ? "its files" : "their files"} will be deleted.{" "}
        {selected.size === 1 ? "Its" : "Their"} URLs will stop working.
      </ConfirmButton>
      <FormModal title="Schedule deletion" opened={isScheduling} onClose={scheduling.close} onSubmit={schedule}>
        <TextInput
          type="datetime-local"
          label="Delete on"
          description="At least 30 days from now. Leave this empty to keep the videos."
          value={date}
          onChange={({ currentTarget }) => setDate(currentTarget.value)}
        />
      </FormModal>
    </>
  );
}
