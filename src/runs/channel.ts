/** The environment variable that names the descriptor over which a run that is to go on by itself is told what to do. */
export const channelVariable = "BASE_CONTEXT_RESIDENT_CHANNEL";
