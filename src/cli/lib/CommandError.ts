/** Ends a command that could not do its work; the message says, in one line, what to do about it. */
export class CommandError extends Error {}
