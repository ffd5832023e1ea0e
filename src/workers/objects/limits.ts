/** Limits of Durable Objects. */
export const objectLimits = {
  /** Classes of one worker. The hosted service allows 500. */
  classes: 500,
  /** Steps in one upload. */
  steps: 1000,
  /** Length of a class name. */
  className: 255,
  /** Length of a migration tag. */
  tag: 1024,
} as const;
