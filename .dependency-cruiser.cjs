// The import rules of ARCHITECTURE.md. Imports are allowed in one direction only:
// kernel <- protocol <- store <- accounts, certificates <- cluster <- zones, workers <- mail, stream <- backup <- api, dev <- dashboard <- server <- migrate <- cli, test-helper
const order = [
  ["kernel"],
  ["protocol"],
  ["store"],
  ["accounts", "certificates"],
  ["cluster"],
  ["zones", "workers"],
  ["mail", "stream"],
  ["backup"],
  ["api", "dev"],
  ["dashboard"],
  ["server"],
  ["migrate"],
  ["cli", "test-helper"],
];

const upward = order.map((modules, level) => ({
  name: `${modules.join("-and-")}-import-lower-levels-only`,
  comment: "A module imports only modules of lower levels.",
  severity: "error",
  from: { path: `^src/(${modules.join("|")})/` },
  to: {
    path: `^src/(${order
      .slice(level + 1)
      .flat()
      .concat("none")
      .join("|")})/`,
  },
}));

const neighbours = order
  .filter((modules) => modules.length > 1)
  .flatMap(([a, b]) => [
    [a, b],
    [b, a],
  ])
  .map(([from, to]) => ({
    name: `${from}-not-${to}`,
    comment: "Modules of one level do not import each other; src/server connects them.",
    severity: "error",
    from: { path: `^src/${from}/` },
    to: { path: `^src/${to}/` },
  }));

// A domain is imported through its index. Two folders of workers have an index of their own: project, because commands
// that need no server would otherwise load all of `workers`, and local, the parts of `reelpost dev`. Tests may also import
// the index of any folder within the domain.
const domains = [
  "accounts",
  "certificates",
  "cluster",
  "zones",
  "workers",
  "mail",
  "stream",
  "backup",
  "api",
  "dev",
  "dashboard",
  "server",
  "migrate",
];
const TEST = "(\\.test|\\.testing|\\.conformance)\\.ts$";
const domainIndexes = domains.flatMap((domain) => [
  {
    name: `${domain}-through-index`,
    comment: "A domain is imported through its index.ts.",
    severity: "error",
    from: { path: "^src/", pathNot: `^src/${domain}/|${TEST}` },
    to: { path: `^src/${domain}/`, pathNot: `^src/${domain}/(index|ports|(project|local)/index)\\.ts$` },
  },
  {
    name: `tests-import-${domain}-through-index`,
    comment: "Tests import a domain through its index.ts or the index.ts of one of its folders.",
    severity: "error",
    from: { path: TEST, pathNot: `^(test|bench|drills|scripts|src/${domain})/` },
    to: { path: `^src/${domain}/`, pathNot: `^src/${domain}/(ports|index|[^/]+/index|[^/]+/[^/]+/index)\\.ts$` },
  },
]);

// In these domains a folder is a module: the rest of the domain imports it through its index.ts. Tests may import
// internal files, and page-config.ts, which web/ compiles for browsers, may import individual files that contain types.
const domainsOfFolders = ["mail", "stream"];
const folderIndexes = domainsOfFolders.flatMap((domain) => {
  const exempt = "\\.(test|testing|conformance)\\.ts$|/page-config\\.ts$";
  const index = `^src/${domain}/[^/]+/index\\.ts$`;
  const rule = { comment: "A folder of the domain is imported through its index.ts.", severity: "error" };
  return [
    {
      ...rule,
      name: `${domain}-folders-through-index`,
      from: { path: `^src/${domain}/([^/]+)/`, pathNot: exempt },
      to: { path: `^src/${domain}/[^/]+/`, pathNot: [`^src/${domain}/$1/`, index] },
    },
    {
      ...rule,
      name: `${domain}-root-through-index`,
      from: { path: `^src/${domain}/[^/]+\\.ts$`, pathNot: exempt },
      to: { path: `^src/${domain}/[^/]+/`, pathNot: index },
    },
  ];
});

module.exports = {
  forbidden: [
    ...upward,
    ...neighbours,
    ...domainIndexes,
    ...folderIndexes,
    {
      name: "dashboard-areas-apart",
      comment: "An area of the dashboard imports shared/ and api/, never another area.",
      severity: "error",
      from: { path: "^web/dashboard/areas/([^/]+)/" },
      to: { path: "^web/dashboard/areas/[^/]+/", pathNot: "^web/dashboard/areas/$1/" },
    },
    {
      name: "dashboard-shared-not-to-areas",
      comment: "shared/ and api/ do not depend on areas.",
      severity: "error",
      from: { path: "^web/dashboard/(shared|api|session)/" },
      to: { path: "^web/dashboard/areas/[^/]+/" },
    },
    {
      name: "protocol-without-io",
      comment: "Protocols are pure: the domain that uses one owns its sockets, files and timers.",
      severity: "error",
      from: { path: "^src/protocol/", pathNot: TEST },
      to: {
        dependencyTypes: ["core"],
        path: "^(node:)?(child_process|cluster|dgram|dns|fs|http|http2|https|net|timers|tls|worker_threads)(/|$)",
      },
    },
    {
      name: "migrate-is-a-client",
      comment: "The import is a client of two servers: it uses nothing of the program's own domains.",
      severity: "error",
      from: { path: "^src/migrate/", pathNot: TEST },
      to: { path: "^src/", pathNot: "^src/(migrate|kernel|protocol)/" },
    },
    {
      name: "no-cycles",
      severity: "error",
      from: {},
      to: { circular: true },
    },
    {
      name: "not-to-unresolvable",
      severity: "error",
      from: { pathNot: "^src/workers/runtime/inside/" },
      // The types of the API are generated before the type check and the build.
      to: { couldNotResolve: true, pathNot: "schema\\.d\\.ts$" },
    },
    {
      name: "no-dev-dependency-at-run-time",
      comment: "The build folder runs in a checkout only; the package contains its output.",
      severity: "error",
      from: {
        path: "^src/",
        pathNot: "(\\.test\\.ts|\\.testing\\.ts|\\.conformance\\.ts|/inside/.*)$|^src/dashboard/docs/build/",
      },
      to: { dependencyTypes: ["npm-dev"], dependencyTypesNot: ["type-only"] },
    },
    {
      name: "source-not-to-tests",
      severity: "error",
      from: { path: "^src/", pathNot: "(\\.test|\\.testing|\\.conformance)\\.ts$" },
      to: { path: "^(test|bench|drills|scripts)/" },
    },
  ],
  options: {
    parser: "swc",
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "require", "node", "default"] },
    tsPreCompilationDeps: true,
    doNotFollow: { path: "node_modules" },
    exclude: { path: "^(bench/peers|test/clients)" },
  },
};
