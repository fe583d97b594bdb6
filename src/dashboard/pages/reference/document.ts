/** The parts of an OpenAPI 3.1 document that the reference shows (OpenAPI Specification 3.1.0, section 4.8). */
export interface OpenApiDocument {
  info: { title: string; version: string; description: string };
  tags: { name: string; description: string }[];
  components: {
    schemas: Record<string, Schema>;
    responses: Record<string, ResponseObject>;
  };
  paths: Record<string, PathItem>;
  webhooks: Record<string, PathItem>;
}

export const methods = ['get', 'post', 'put', 'patch', 'delete'] as const;
export type Method = (typeof methods)[number];
export type PathItem = Partial<Record<Method, OperationObject>>;

export interface OperationObject {
  operationId: string;
  summary: string;
  description: string;
  tags: string[];
  parameters?: ParameterObject[];
  requestBody?: { content: Content };
  responses: Record<string, ResponseObject | Reference>;
}

export interface ParameterObject {
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  description?: string;
  schema: Schema;
}

export interface ResponseObject {
  description: string;
  content?: Content;
}

export type Content = Record<string, MediaType>;

export interface MediaType {
  schema?: SchemaOrReference;
  example?: unknown;
  examples?: Record<string, { summary?: string; value: unknown }>;
}

export interface Reference {
  $ref: string;
}

export type SchemaOrReference = Schema | Reference;

export interface Schema {
  type?: string | string[];
  format?: string;
  description?: string;
  properties?: Record<string, SchemaOrReference>;
  required?: string[];
  items?: SchemaOrReference;
  anyOf?: SchemaOrReference[];
  additionalProperties?: SchemaOrReference;
  enum?: unknown[];
  default?: unknown;
  examples?: unknown[];
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
}

/** One operation, or one message of a webhook, with its place in the document. */
export interface PlacedOperation {
  /** For a message, its type. */
  path: string;
  method: Method;
  operation: OperationObject;
}

/** Returns the operations below these paths, in the document's order. */
export function operationsOf(paths: Record<string, PathItem>): PlacedOperation[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const operation = item[method];
      return operation ? [{ path, method, operation }] : [];
    }),
  );
}

/** Returns the last part of a reference's target: the component's name. */
export function nameOf({ $ref }: Reference): string {
  return $ref.slice($ref.lastIndexOf('/') + 1);
}

export function isReference(value: object): value is Reference {
  return '$ref' in value;
}
