/**
 * Products of the hosted API that this server does not offer, with their paths relative to the account, the zone or the
 * root.
 */
const PRODUCTS: readonly (readonly [subject: string, path: RegExp])[] = [
  ["Vectorize is", /^vectorize\b/],
  ["Hyperdrive is", /^hyperdrive\b/],
  ["Pipelines are", /^pipelines\b/],
  ["Workflows are", /^workflows\b/],
  ["Workers for Platforms is", /^workers\/dispatch\b/],
  ["Workers Observability is", /^workers\/observability\b/],
  ["Workers Builds is", /^builds\b/],
  ["Containers are", /^(containers|cloudchamber)\b/],
  ["Browser Rendering is", /^browser-rendering\b/],
  ["Pages is", /^pages\b/],
  ["This feature of AI Gateway is", /^ai-gateway\b/],
  ["AI Search is", /^(ai-search|autorag)\b/],
  ["Workers AI is", /^ai\b/],
  ["mTLS certificates are", /^mtls_certificates\b/],
  ["Images is", /^images\b/],
  ["Workers VPC is", /^(connectivity|workers\/vpc)\b/],
  ["Cloudflare Tunnel is", /^(cfd_tunnel|tunnels|warp_connector)\b/],
  ["Agent Memory is", /^agent-memory\b/],
  ["Artifacts is", /^artifacts\b/],
  ["Flagship is", /^flagship\b/],
  ["Realtime is", /^calls\b/],
  ["Turnstile is", /^challenges\/widgets\b/],
  ["Event subscriptions are", /^event_subscriptions\b/],
  ["R2 Data Catalog is", /^(r2-catalog|r2\/catalog)\b/],
  ["R2 bucket locks are", /^r2\/buckets\/[^/]+\/lock$/],
  ["Sippy is", /^r2\/buckets\/[^/]+\/sippy$/],
  ["R2 local uploads are", /^r2\/buckets\/[^/]+\/local-uploads$/],
  ["R2 metrics are", /^r2\/metrics$/],
  ["Temporary R2 credentials are", /^r2\/temp-access-credentials$/],
  ["Super Slurper is", /^slurper\b/],
  ["Zero Trust Access is", /^access\b/],
  ["Radar is", /^radar\b/],
];

/**
 * Returns the unavailable product to which a path belongs, with its verb ("Vectorize is"), or undefined. `path` is
 * relative to /client/v4.
 */
export function unavailableProductOf(path: string): string | undefined {
  const pathInAccount = path.replace(/^\/((accounts|zones)\/[^/]+\/)?/, "");
  return PRODUCTS.find(([, pattern]) => pattern.test(pathInAccount))?.[0];
}
