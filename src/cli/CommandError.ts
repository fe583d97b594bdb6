/** What ends a command that could not do its work; the message says, in a line, what to do about it. */
export class CommandError extends Error {}
