/**
 * The TCP port at which the gateway listens in each worker's network. In a sandbox without a network, the
 * adapter's loopback proxy listens on a port of this number, too.
 */
export const gatewayPort = 18_877;
