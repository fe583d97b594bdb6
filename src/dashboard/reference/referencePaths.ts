/** Addresses of the reference, whole. */
export const referencePath = '/dashboard/reference';

export function operationPath(operationId: string): string {
  return `${referencePath}/operations/${operationId}`;
}

export function schemaPath(name: string): string {
  return `${referencePath}/schemas/${name}`;
}

/** The answer of an error that operations share. */
export function errorPath(name: string): string {
  return `${referencePath}/errors#response-${name}`;
}

/** A message that is sent to webhooks. */
export function messagePath(operationId: string): string {
  return `${referencePath}/messages#${operationId}`;
}
