import { html } from 'hono/html';
import { actionForms } from './action-forms.ts';
import type { FormContext, PageSources } from './page-sources.ts';
import { type Html, table } from '../html/document.ts';
import { longText, timeOfMs } from './text.ts';

const shownPauses = 20;

/** The paused scopes that hold up the most; null: there is none. */
export function pausedScopes({ read, clock }: PageSources, context: FormContext): Html | null {
  const pauses = read.pauses();
  if (pauses.length === 0) return null;
  const nowMs = clock.wallMs();
  const shown = pauses.toSorted((a, b) => b.holdsUp - a.holdsUp).slice(0, shownPauses);
  const rows = shown.map((pause) => [
    pause.scope,
    longText(pause.message === '' ? pause.reason : `${pause.reason}: ${pause.message}`),
    pause.openedBy,
    timeOfMs(pause.sinceMs, nowMs),
    pause.scope === 'account' ? html`<a href="/orders?state=pending">${pause.holdsUp}</a>` : pause.holdsUp,
    pause.probeAtMs === null ? 'only a person resumes it' : timeOfMs(pause.probeAtMs, nowMs),
    actionForms.pause(pause.scope, context),
  ]);
  const header = ['Scope', 'Reason', 'By', 'Since', 'Entries held up', 'Next try', 'Decide'];
  const others = pauses.length - shown.length;
  return html`<section aria-labelledby="pauses"><h2 id="pauses">Paused</h2>
${table('Paused scopes', header, rows)}
${shown.some(({ probeAtMs }) => probeAtMs !== null) ? html`<p>A pause with a next try ends by itself when that try succeeds. Nothing is lost until then. If you can remove its cause, such as an empty balance or a key that is not accepted, do so.</p>` : null}
${others > 0 ? html`<p>${others} more are in the <a href="/attention">attention list</a>.</p>` : null}</section>`;
}

/** The sinks that take no results at the moment; null: all take them. */
export function pausedSinks({ read, clock }: PageSources): Html | null {
  const sinks = read.sinkPauses();
  if (sinks.length === 0) return null;
  const nowMs = clock.wallMs();
  const rows = sinks.map(({ sink, reason, message, sinceMs, probeAtMs, waiting }) => [
    sink,
    longText(`${reason}: ${message}`),
    timeOfMs(sinceMs, nowMs),
    waiting,
    timeOfMs(probeAtMs, nowMs),
  ]);
  const header = ['Sink', 'Reason', 'Since', 'Results waiting', 'Next try'];
  return html`<section aria-labelledby="sinks"><h2 id="sinks">Sinks that take no results</h2>
${table('Paused sinks', header, rows)}</section>`;
}
