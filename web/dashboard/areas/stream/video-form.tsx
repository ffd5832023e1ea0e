import { Button, Group, SimpleGrid, TagsInput, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { api } from "../../api/client.ts";
import { Section } from "../../shared/page.tsx";
import { useAction } from "../../shared/use-action.ts";
import { nameOf, streamKeys, videoPath, type Video } from "./queries.ts";

/** Changes the name, the creator, the tags and the date of deletion. */
export function VideoForm({ video, account }: { video: Video; account: string }) {
  const tags: unknown = video.meta["tags"];
  const form = useForm({
    initialValues: {
      name: nameOf(video) === video.uid ? "" : nameOf(video),
      creator: video.creator ?? "",
      tags: typeof tags === "string" && tags !== "" ? tags.split(",") : [],
      scheduledDeletion: video.scheduledDeletion === null ? "" : localTime(video.scheduledDeletion),
    },
  });
  const save = useAction(
    () => {
      const { name, creator, tags: tagList, scheduledDeletion } = form.values;
      return api.post("/accounts/{account_id}/stream/{identifier}", {
        path: videoPath(account, video.uid),
        body: {
          // The API replaces all of `meta`.
          meta: { ...video.meta, name, ...((tagList.length > 0 || tags !== undefined) && { tags: tagList.join(",") }) },
          creator,
          ...(form.isDirty("scheduledDeletion") && {
            scheduledDeletion: scheduledDeletion === "" ? null : new Date(scheduledDeletion).toISOString(),
          }),
        },
      });
    },
    {
      done: "Video saved",
      failed: "Could not save the video",
      invalidates: [streamKeys.video(account, video.uid), streamKeys.videos(account)],
    },
  );
  return (
    <Section title="Edit details">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate();
        }}
      >
        <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm" verticalSpacing="sm">
          <TextInput label="Name" {...form.getInputProps("name")} />
          <TextInput label="Creator" {...form.getInputProps("creator")} />
          <TagsInput label="Tags" {...form.getInputProps("tags")} />
          <TextInput label="Delete on" type="datetime-local" {...form.getInputProps("scheduledDeletion")} />
        </SimpleGrid>
        <Group mt="sm">
          <Button type="submit" variant="default" loading={save.isPending} disabled={!form.isDirty()}>
            Save changes
          </Button>
        </Group>
      </form>
    </Section>
  );
}

/** The value of a datetime-local field. */
function localTime(iso: string): string {
  const date = new Date(iso);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
