/** Full addresses of the reference. */
export const referencePath = '/dashboard/reference';

export function operationPath(operationId: string): string {
  return `${referencePath}/operations/${operationId}`;
}

export function schemaPath(name: string): string {
  return `${referencePath}/schemas/${name}`;
}

/** Returns the address of an error response that operations share. */
export function errorPath(name: string): string {
  return `${referencePath}/errors#response-${name}`;
}

/** Returns the address of a message that is sent to webhooks. */
export function messagePath(operationId: string): string {
  return `${referencePath}/messages#${operationId}`;
}
