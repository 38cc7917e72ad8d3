/** Where the gateway listens in workers' networks, and where a sandbox without one finds what its adapter passes on. */
export const doorPort = 18_877;
