import { STATUS_CODES } from 'node:http';
import { isRefused } from '../../modules/integrations/fhir/Interpreter.ts';
import { readBundle } from '../../modules/integrations/fhir/readBundle.ts';
import type { EntryOutcome } from '../../modules/integrations/fhir/sendMessage.ts';
import type { Answer } from '../server/answer.ts';
import { asServiceError, statusOf } from '../server/errorAnswer.ts';
import type { ServedEndpoint } from '../server/serveEndpoint.ts';
import { carryMessage, type FhirPorts, isFailed } from './carryMessage.ts';
import { FHIR_JSON, FhirRefusal, operationOutcome } from './fhirAnswer.ts';
import { fhirEndpoint } from './fhirEndpoint.ts';
import { readFhir } from './readFhir.ts';

/** `POST /fhir` (FHIR R4, 3.1.0.11). */
export function sendBundle(ports: FhirPorts): ServedEndpoint {
  const route = '/fhir';
  return fhirEndpoint(route, async (exchange): Promise<Answer> => {
    const { value, bytes } = await readFhir(exchange);
    const bundle = readBundle(value);
    if ('issue' in bundle) throw new FhirRefusal('validation_failed', [bundle.issue]);
    const { type, read } = bundle;
    const unread = read.flatMap((one, index) => ('issue' in one ? [[index, one.issue] as const] : []));
    const isAtomic = type === 'transaction';
    if (isAtomic && unread.length > 0) {
      throw new FhirRefusal(
        'validation_failed',
        unread.map(([, issue]) => issue),
      );
    }
    const entries = read.flatMap((one) => ('issue' in one ? [] : [one]));
    const outcomes = await carryMessage(ports, exchange, () => ({
      entries,
      isAtomic,
      route,
      bytes: [bytes],
    }));
    const byEntry = new Map(outcomes.map((outcome) => [outcome.interpreted.entry, outcome]));
    return {
      type: FHIR_JSON,
      body: {
        resourceType: 'Bundle',
        type: `${type}-response`,
        entry: read.map((one) => ({
          response:
            'issue' in one
              ? { status: statusText(400), outcome: operationOutcome([one.issue]) }
              : responseTo(byEntry.get(one) as EntryOutcome),
        })),
      },
    };
  });
}

function responseTo(outcome: EntryOutcome): object {
  const { interpreted, issues, result } = outcome;
  const told = issues.length > 0 && { outcome: operationOutcome(issues) };
  if (isRefused(interpreted)) return { status: statusText(400), ...told };
  if (isFailed(result)) return { status: statusText(statusOf[asServiceError(result.error).code]), ...told };
  if (result === undefined || !('version' in result)) return { status: statusText(200), ...told };
  const { outcome: came, version } = result;
  return {
    status: statusText(came === 'created' ? 201 : 200),
    location: `${locationOf(outcome)}/_history/${version}`,
    etag: `W/"${version}"`,
    ...told,
  };
}

/** Returns the relative address of a resource whose record was written. */
export function locationOf({ interpreted: { identity } }: EntryOutcome): string {
  return `${identity.type}/${encodeURIComponent(identity.recordId ?? identity.resourceId ?? '')}`;
}

function statusText(status: number): string {
  return `${status} ${STATUS_CODES[status]}`;
}
