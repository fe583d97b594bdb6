import type { HeldRequest } from '../../../api/server/heldRequest.ts';
import type { Visit } from '../../components/route.ts';
import { textOf } from '../../components/sentForm.ts';
import type { ParameterObject, PlacedOperation } from './document.ts';
import { exampleRequest, filledPath } from './exampleRequest.ts';

/** Operations that cannot be tried: files, whole exports, and those that have confirmation pages of their own. */
const untried = ['uploadDocument', 'downloadDocument', 'deleteDocument', 'readSnapshot', 'sendBatch'];

/** Whether an operation can be tried at all, whoever asks. */
export function isTried({ method, operation: { operationId, tags } }: PlacedOperation): boolean {
  if (untried.includes(operationId)) return false;
  return method === 'get' ? !tags.includes('Service') : !tags.includes('Webhooks');
}

/** Returns the parameters that a form asks for: without waiting, as a page does not wait. */
export function triedParameters({ operation }: PlacedOperation): ParameterObject[] {
  return (operation.parameters ?? []).filter(({ name }) => name !== 'wait');
}

/** Returns the name of a parameter's field in the form. */
export function fieldName({ in: place, name }: ParameterObject): string {
  return `${place}-${name}`;
}

/** Returns the request that a form asks for; undefined where a part of the path is missing. */
export function triedRequest(placed: PlacedOperation, form: Visit['form']): HeldRequest | undefined {
  const valuesIn = (place: ParameterObject['in']) =>
    Object.fromEntries(
      triedParameters(placed)
        .filter((one) => one.in === place)
        .map((one) => [one.name, textOf(form, fieldName(one))] as const)
        .filter(([, value]) => value !== ''),
    );
  const [params, query] = [valuesIn('path'), valuesIn('query')];
  const names = [...placed.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  if (names.some((name) => params[name] === undefined)) return undefined;
  const search = new URLSearchParams(query).toString();
  const { type } = exampleRequest(placed);
  const headers = Object.entries(valuesIn('header')).map(([name, value]) => [name.toLowerCase(), value]);
  return {
    method: placed.method.toUpperCase(),
    url: `${filledPath(placed.path, params)}${search && `?${search}`}`,
    params,
    query,
    headers: {
      ...Object.fromEntries(headers),
      accept: 'application/json, application/x-ndjson;q=0.9',
      ...(type !== undefined && { 'content-type': type }),
    },
    body: type === undefined ? undefined : textOf(form, 'body'),
  };
}
