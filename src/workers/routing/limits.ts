export const routingLimits = {
  patternLength: 1024,
  routesPerZone: 1000,
  domainsPerZone: 100,
  /**
   * Maximum number of routes, and of custom domains, per server. Every process that runs workers keeps them in memory.
   */
  perServer: 100_000,
};
