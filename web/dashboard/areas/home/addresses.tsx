import { SimpleGrid } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useAccount } from "../../api/account.ts";
import { appInfo, isDev } from "../../api/app-info.ts";
import { api } from "../../api/client.ts";
import { CopyField } from "../../shared/copy.tsx";
import { Section } from "../../shared/page.tsx";

const LABELS = { api: "API", upload: "Uploads", worker: "Workers", video: "Videos", smtp: "SMTP" } as const;

/** Endpoints that every member may see. */
const publicAddresses = () =>
  Object.entries(LABELS).flatMap(([key, name]) => {
    const url = appInfo().urls[key as keyof typeof LABELS];
    return url === undefined ? [] : [{ name, url }];
  });

/** All endpoints of the server. The API lists more of them to members of the operator's account. */
export function Addresses() {
  const { id: account } = useAccount();
  const { data } = useQuery({
    queryKey: ["home", "addresses", account],
    queryFn: () => api.get("/accounts/{account_id}/server", { path: { account_id: account } }),
    enabled: !isDev(),
    staleTime: 300_000,
    retry: false,
  });
  const known = publicAddresses();
  const more = (data?.urls ?? []).filter(({ url }) => !known.some((endpoint) => sameUrl(endpoint.url, url)));
  return (
    <Section title="Endpoints">
      <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }} spacing="sm" verticalSpacing="sm">
        {[...known, ...more].map(({ name, url }) => (
          <CopyField key={`${name} ${url}`} label={name} value={url} />
        ))}
      </SimpleGrid>
    </Section>
  );
}

const sameUrl = (a: string, b: string) => a.replace(/\/$/, "") === b.replace(/\/$/, "");
