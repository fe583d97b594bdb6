import { input, select } from '../../components/formFields.ts';
import { type Html, html } from '../../components/html.ts';
import { presentReader } from '../../components/reader.ts';
import { operationPath } from '../../components/referencePaths.ts';
import type { Visit } from '../../components/route.ts';
import { textOf } from '../../components/sentForm.ts';
import type { ParameterObject, PlacedOperation, Schema } from './document.ts';
import { exampleRequest } from './exampleRequest.ts';
import { inline } from './markdown.ts';
import { fieldName, triedParameters } from './triedRequest.ts';

/** The initial values of a form: little at once, and nothing is written. */
const beginnings: Record<string, string> = { limit: '20', dry_run: 'true' };

/** Returns the form that tries an operation in one of these workspaces; `sent` is what was sent last. */
export function tryForm(
  placed: PlacedOperation,
  workspaces: readonly string[],
  { csrf, req }: Visit,
  sent: Visit['form'] | undefined,
): Html {
  const valueFor = (name: string, beginning: string) => (sent ? textOf(sent, name) : beginning);
  const { body } = exampleRequest(placed);
  return html`<form method="post" action="${operationPath(placed.operation.operationId)}#answer">
${csrf}
${select({
  ...{ name: 'workspace', label: 'Workspace', value: valueFor('workspace', req.session.workspace ?? '') },
  options: workspaces.map((value) => ({ value, text: value })),
})}
${triedParameters(placed).map((one) => field(one, valueFor(fieldName(one), beginnings[one.name] ?? '')))}
${body !== undefined && bodyField(valueFor('body', JSON.stringify(body, null, 2)))}
<button type="submit">Send</button>
</form>`;
}

function field(parameter: ParameterObject, value: string): Html {
  const { name, in: place, required = false, schema, description } = parameter;
  const choices = choicesOf(schema);
  const common = {
    ...{ name: fieldName(parameter), label: place === 'path' ? name : `${name} (${place})`, value },
    hint: description && html`${inline(description)}`,
  };
  if (choices) {
    const options = choices.map((choice) => ({ value: choice, text: choice }));
    return select({ ...common, options: required ? options : [{ value: '', text: 'Not sent' }, ...options] });
  }
  return input({ ...common, isRequired: required, autocomplete: 'off' });
}

function choicesOf({ type, enum: values }: Schema): string[] | undefined {
  if (type === 'boolean') return ['true', 'false'];
  return values?.map(String);
}

function bodyField(value: string): Html {
  const typed = presentReader().typed?.body;
  return html`<div class="field"><label for="body">Body</label>
<textarea id="body" name="body" rows="10" spellcheck="false" autocomplete="off">${typeof typed === 'string' ? typed : value}</textarea></div>`;
}
