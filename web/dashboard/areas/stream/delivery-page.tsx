import { Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useAccount } from "../../api/account.ts";
import { api } from "../../api/client.ts";
import { CopyField } from "../../shared/copy.tsx";
import { ErrorState } from "../../shared/error-state.tsx";
import { LoadingState } from "../../shared/loading-state.tsx";
import { Page, Section } from "../../shared/page.tsx";

/** Paths of a video that integrations build themselves. */
const PATHS = [
  ["Player page", "watch"],
  ["Player for embedding", "iframe"],
  ["HLS", "manifest/video.m3u8"],
  ["DASH", "manifest/video.mpd"],
  ["Thumbnail", "thumbnails/thumbnail.jpg"],
] as const;

export default function DeliveryPage() {
  const { id: account } = useAccount();
  const { data, error, refetch } = useQuery({
    queryKey: ["stream", account, "delivery"],
    queryFn: () => api.get("/accounts/{account_id}/stream/delivery", { path: { account_id: account } }),
  });
  return (
    <Page
      title="Delivery"
      parents={[{ label: "Videos", to: "/stream" }]}
      description="Where viewers get the videos of this account."
      width="narrow"
    >
      {error !== null && <ErrorState error={error} onRetry={() => void refetch()} />}
      {data === undefined ? (
        error === null && <LoadingState rows={4} />
      ) : (
        <>
          <Section title="Customer code" description="Identifies this account in the host names of its videos.">
            <Stack gap="sm">
              <CopyField label="Customer code" value={data.customerCode} />
              {data.deliveryDomain === null ? (
                <Text fz="sm">
                  No delivery domain is set, so the URLs of videos begin with the URL of the server. To serve videos at{" "}
                  <code>customer-{data.customerCode}.&lt;domain&gt;</code>, point <code>*.&lt;domain&gt;</code> at the
                  server and set <code>stream.delivery_domain</code>.
                </Text>
              ) : (
                <>
                  <CopyField label="Delivery domain" value={data.deliveryDomain} />
                  <CopyField label="Host of this account" value={new URL(data.baseUrl).host} />
                </>
              )}
            </Stack>
          </Section>
          <Section
            title="URLs"
            description="Replace <id> with a video ID, or with a signed token if the video requires one."
          >
            <Stack gap="sm">
              {PATHS.map(([label, path]) => (
                <CopyField key={path} label={label} value={`${data.baseUrl}/<id>/${path}`} />
              ))}
            </Stack>
          </Section>
        </>
      )}
    </Page>
  );
}
