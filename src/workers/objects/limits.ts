/** Limits for Durable Objects. */
export const objectLimits = {
  /** Maximum number of classes per worker, as in the hosted service. */
  classes: 500,
  /** Maximum number of migration steps per upload. */
  steps: 1000,
  /** Maximum length of a class name, in characters. */
  classNameLength: 255,
  /** Maximum length of a migration tag, in characters. */
  migrationTagLength: 1024,
} as const;
