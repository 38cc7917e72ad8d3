/** What tests make on an engine carries it, so that leftovers are found. */
export const testLabel = "org.aimi.test";
