export const routingLimits = {
  patternChars: 1024,
  routesPerZone: 1000,
  domainsPerZone: 100,
  /** Routes and custom domains of the server: every process that runs workers keeps them in memory. */
  total: 100_000,
};
