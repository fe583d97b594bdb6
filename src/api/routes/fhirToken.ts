import { recordAccess } from '../../modules/audit/recordAccess.ts';
import { type AccessTokens, TOKEN_SECONDS } from '../../modules/auth/accessTokens.ts';
import type { ClientAssertions } from '../../modules/auth/clientAssertions.ts';
import { assertionAlgorithms } from '../../modules/auth/publicKeys.ts';
import { grantScopes } from '../../modules/auth/scopes.ts';
import { type ErrorCode, ServiceError } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { type Gate, keyProblem } from '../server/admission.ts';
import { type Answer, addressOf, errorAnswer, statusOf } from '../server/answer.ts';
import { isUtf8Type, readBody } from '../server/body.ts';
import type { Route, ServedEndpoint } from '../server/dispatch.ts';
import { callerOf, type RequestContext } from '../server/requestContext.ts';

const route = '/fhir/token';
const MAX_BYTES = 64 * 1024;
const GRANT = 'client_credentials';
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const FORM = 'application/x-www-form-urlencoded';

/** The errors of RFC 6749, 5.2, that are refusals of this endpoint. */
type TokenError = 'invalid_request' | 'invalid_client' | 'unsupported_grant_type' | 'invalid_scope';

/** A refusal that names one of these errors. */
class TokenRefusal extends ServiceError {
  readonly error: TokenError;

  constructor(error: TokenError, message: string) {
    super(error === 'invalid_client' ? 'unauthorized' : 'validation_failed', message);
    this.error = error;
  }
}

/** The errors for refusals that other parts of the service make: of a key, or for want of a store. */
function errorOf({ code }: { code: ErrorCode }): string {
  const status = statusOf[code];
  if (status === 503 || status === 429) return 'temporarily_unavailable';
  if (status >= 500) return 'server_error';
  return status === 401 || status === 403 ? 'invalid_client' : 'invalid_request';
}

/** Returns the response to a failed request (RFC 6749, 5.2). */
function refuseToken(failure: ServiceError, requestId: string): Answer {
  const { status, headers } = errorAnswer(failure, requestId);
  const error = failure instanceof TokenRefusal ? failure.error : errorOf(failure);
  return {
    ...(status !== undefined && { status }),
    ...(headers && { headers }),
    body: { error, error_description: failure.message },
  };
}

interface TokenPorts {
  gate: Pick<Gate, 'limit'>;
  eventLog: EventLog;
  assertions: ClientAssertions;
  tokens: AccessTokens;
  publicUrl: string | undefined;
}

function tokenUrlOf({ req }: RequestContext, publicUrl: string | undefined): string {
  return `${addressOf(req, publicUrl)}${route}`;
}

/** Rejects with a `TokenRefusal`, and as `readBody` does. */
async function readForm(context: RequestContext) {
  if (!isUtf8Type(context.req.headers['content-type'] ?? '', FORM))
    throw new TokenRefusal('invalid_request', `Send the request with Content-Type: ${FORM}.`);
  const { bytes } = await readBody(context, MAX_BYTES);
  const form = new URLSearchParams(bytes.toString());
  const names = [...form.keys()];
  const value = (name: string) => form.get(name) || undefined;
  if (new Set(names).size < names.length)
    throw new TokenRefusal('invalid_request', 'A parameter must not be sent twice.');
  if (value('grant_type') === undefined)
    throw new TokenRefusal('invalid_request', `The parameter grant_type is required: ${GRANT}.`);
  if (value('grant_type') !== GRANT)
    throw new TokenRefusal('unsupported_grant_type', `The only supported grant_type is ${GRANT}.`);
  const assertion = value('client_assertion');
  if (assertion === undefined || value('client_assertion_type') !== ASSERTION_TYPE)
    throw new TokenRefusal(
      'invalid_client',
      `Send a client_assertion, with the client_assertion_type ${ASSERTION_TYPE}.`,
    );
  return { assertion, requested: value('scope') ?? '', clientId: value('client_id') };
}

/** `POST /fhir/token` (SMART App Launch 2, Backend Services; RFC 6749, 4.4): a token for a client with a key pair. */
async function issueToken(ports: TokenPorts, context: RequestContext): Promise<Answer> {
  const { gate, eventLog, assertions, tokens, publicUrl } = ports;
  await gate.limit(context);
  const { assertion, requested, clientId } = await readForm(context);
  const client = await assertions.verify(assertion, tokenUrlOf(context, publicUrl));
  // A caller that cannot prove to be the client leaves nothing in the audit trail of its workspace.
  context.found = client.found;
  const { key } = client.found;
  const problem = keyProblem(client.found, context.clientIp);
  if (problem) throw new TokenRefusal('invalid_client', problem.message);
  if (clientId !== undefined && clientId !== key.id)
    throw new TokenRefusal('invalid_client', 'The client_id is not that of the assertion.');
  const scopes = grantScopes(requested, key.permissions);
  if (scopes.length === 0)
    throw new TokenRefusal(
      'invalid_scope',
      'Request scopes that the API key has permissions for, such as system/*.write or system/Patient.cu.',
    );
  const scope = scopes.join(' ');
  await recordAccess(eventLog, callerOf(context), { action: 'token.issued', query: { scope } });
  const token = await tokens.issue(client, scopes);
  return { body: { access_token: token, token_type: 'bearer', expires_in: TOKEN_SECONDS, scope } };
}

/** `GET /fhir/.well-known/smart-configuration` (SMART App Launch 2): where tokens are, and for what. */
function readConfiguration({ publicUrl }: TokenPorts): ServedEndpoint {
  return {
    ...{ route: '/fhir/.well-known/smart-configuration', permission: 'public', query: 'ignored' },
    handle: async (context) => ({
      body: {
        token_endpoint: tokenUrlOf(context, publicUrl),
        token_endpoint_auth_methods_supported: ['private_key_jwt'],
        token_endpoint_auth_signing_alg_values_supported: Object.values(assertionAlgorithms),
        grant_types_supported: [GRANT],
        scopes_supported: ['system/*.cu', 'system/*.rs', 'system/*.write', 'system/*.read'],
        capabilities: ['client-confidential-asymmetric', 'permission-v1', 'permission-v2'],
      },
    }),
  };
}

/** SMART Backend Services: described by its configuration, with refusals in the form of OAuth. */
export function tokenRoutes(ports: TokenPorts): Route[] {
  const issue: ServedEndpoint = {
    ...{ route, permission: 'public', refuse: refuseToken },
    handle: (context) => issueToken(ports, context),
  };
  return [
    { method: 'get', endpoint: readConfiguration(ports) },
    { method: 'post', endpoint: issue },
  ];
}
