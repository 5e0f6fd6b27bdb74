import { html } from 'hono/html';
import { affectedText } from '../../core/operator/affected.ts';
import { sentence } from '../../core/message-text.ts';
import { actionForms } from './action-forms.ts';
import { adviceText } from './attention-page.ts';
import type { FormContext, PageSources } from './page-sources.ts';
import type { Html } from '../html/document.ts';
import { dueText, longText, section, table, timeText } from './parts.ts';

const shownPauses = 20;
const keyName = /^wholesale\.keys\.\d+\.name$/;

/** The advice; none yet where a pause may end by itself within a minute. */
const whatToDo = (read: PageSources['read'], id: string, context: FormContext): string =>
  read.attention(1, { kind: 'pause', ids: [id] }).map((row) => adviceText(row, context))[0] ??
  'Wait for the next try.';

/** The paused scopes that hold up the most; null: there is none. */
export function pausedScopes(sources: PageSources, context: FormContext): Html | null {
  const { read, clock } = sources;
  const pauses = read.pauses();
  if (pauses.length === 0) return null;
  const nowMs = clock.wallMs();
  const shown = pauses.toSorted((a, b) => b.holdsUp - a.holdsUp).slice(0, shownPauses);
  const rows = shown.map(
    ({ scope, reason, message, openedBy, sinceMs, holdsUp, probeAtMs, affects }) => [
      scope,
      html`${longText(
        `${[reason, sentence(message)].filter(Boolean).join(': ')}${openedBy === 'worker' ? '' : ` (by ${openedBy})`}`,
      )} <span class="faint">${affectedText(affects(), nowMs)}</span>`,
      timeText(sinceMs, nowMs),
      scope === 'account' ? html`<a href="/orders?state=pending">${holdsUp}</a>` : holdsUp,
      probeAtMs === null ? 'Only an operator resumes it.' : dueText(probeAtMs, nowMs),
      html`${whatToDo(read, `pause:${scope}`, context)}${actionForms.pause(scope, context)}${scope.startsWith('key:') ? keyPlaces(sources, context, scope.slice(4)) : null}`,
    ],
  );
  const header = ['Scope', 'Reason', 'Since', 'Held up', 'Next try', 'What to do'];
  const others = pauses.length - shown.length;
  const main = html`${table('Paused scopes', header, rows)}
${others > 0 ? html`<p>${others} more are in the <a href="/attention">attention list</a>.</p>` : null}`;
  return section('pauses', 'Paused', main);
}

/**
 * The button that reads the keys of the API again, and where their values stand. No page has a
 * value. @param only this key
 */
export function keyPlaces(
  { configInUse, clock }: PageSources,
  context: FormContext,
  only?: string,
): Html | null {
  const { values, readAtMs } = configInUse() ?? { values: [], readAtMs: null };
  const keys = values.filter(({ path, value }) => keyName.test(path) && (only ?? value) === value);
  if (keys.length === 0) return null;
  const places = keys.map(({ path, value: name }) => {
    // Either the value, which is masked, or the name of its file.
    const set = values.find((it) => it.path.startsWith(path.replace(/name$/, 'value')));
    const isVariable = set?.value === '***' && set.source === 'environment';
    const place =
      set?.value === '***'
        ? set.place
        : typeof set?.value === 'string'
          ? set.value.replace(/^file:/, '')
          : '';
    return html`The key ${name} is in <span class="code">${place}</span>${isVariable ? ', which only a restart reads again' : null}.<br>`;
  });
  return actionForms.reload(
    html`${places}Read last: ${timeText(readAtMs, clock.wallMs())}`,
    context,
  );
}

/** The sinks that take no results at the moment; null: all take them. */
export function pausedSinks({ read, clock }: PageSources, context: FormContext): Html | null {
  const sinks = read.sinkPauses();
  if (sinks.length === 0) return null;
  const nowMs = clock.wallMs();
  const rows = sinks.map(({ sink, reason, message, sinceMs, probeAtMs, waiting }) => [
    sink,
    longText(`${reason}: ${sentence(message)}`),
    timeText(sinceMs, nowMs),
    html`<a href="/deliveries?sink=${encodeURIComponent(sink)}">${waiting}</a>`,
    dueText(probeAtMs, nowMs),
    html`${whatToDo(read, `sink:${sink}`, context)}${actionForms.pause(`sink:${sink}`, context)}`,
  ]);
  const header = ['Sink', 'Reason', 'Since', 'Results waiting', 'Next try', 'What to do'];
  return section('sinks', 'Sinks that take no results', table('Paused sinks', header, rows));
}
