export { audienceMigrations, type AudienceColumn } from "./audience-table.ts";
export { createAudience, type Audience } from "./audience.ts";
