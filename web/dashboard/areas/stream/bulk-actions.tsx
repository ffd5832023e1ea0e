import { Button, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useState } from "react";
import { useAccount } from "../../api/account.ts";
import { api } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { ConfirmButton } from "../../shared/confirm-button.tsx";
import { FormModal } from "../../shared/form-modal.tsx";
import { formatNumber } from "../../shared/format.tsx";
import { useAction } from "../../shared/use-action.ts";
import { useNotify } from "../../shared/use-notify.ts";
import { forEachVideo, streamKeys, videoPath } from "./queries.ts";

const counted = (count: number) => (count === 1 ? "1 video" : `${formatNumber(count)} videos`);

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
      done: (count) => `${counted(count)} changed`,
      failed: "Could not change all videos",
      invalidates: [streamKeys.videos(account)],
      onDone,
    },
  );

  async function remove() {
    const count = await forEachVideo(selected, (uid) =>
      api.delete("/accounts/{account_id}/stream/{identifier}", { path: videoPath(account, uid) }),
    ).finally(invalidate);
    notify.success(`${counted(count)} deleted`);
    onDone();
  }

  async function schedule() {
    const count = await forEachVideo(selected, (uid) =>
      edit(uid, { scheduledDeletion: date === "" ? null : new Date(date).toISOString() }),
    );
    notify.success(`${counted(count)} changed`);
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
        {counted(selected.size)} and all their files are deleted. Their URLs stop working.
      </ConfirmButton>
      <FormModal title="Schedule deletion" opened={isScheduling} onClose={scheduling.close} onSubmit={schedule}>
        <TextInput
          type="datetime-local"
          label="Delete on"
          description="At least 30 days from now. Leave it empty to keep the videos."
          value={date}
          onChange={({ currentTarget }) => setDate(currentTarget.value)}
        />
      </FormModal>
    </>
  );
}
