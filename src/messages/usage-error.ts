/** A mistake of the operator; the message, one line, says what would be right. */
export class UsageError extends Error {}
