// Submitting a project, and changing one.
import { signal } from "@preact/signals";
import { api, ask } from "../api/client.ts";
import { Field, focusWrong, TextField } from "../parts/field.tsx";
import { Markdown } from "../parts/markdown.tsx";
import { Monogram } from "../parts/monogram.tsx";
import { Empty, Failed, Skeleton } from "../parts/states.tsx";
import { VoteButton } from "../parts/vote.tsx";
import type { Draft } from "../state/draft.ts";
import { FORM } from "../state/form.ts";
import { Resource } from "../state/resource.ts";
import { categories, loadCategories } from "../state/categories.ts";
import { chooseLogo, KINDS, logo, logoFault } from "../state/logo.ts";
import type { Page } from "../state/router.ts";
import { isAdministrator, readOnly, session, user } from "../state/session.ts";
import {
  discard, draft, edited, enterForm, errors, found, isChanged, leave, review, send, sending, write,
} from "../state/submission.ts";
import { f } from "../text.forms.ts";
import { t } from "../text.ts";
import { Preview, savedLogo } from "./submit-preview.tsx";
import { Both, Refusal, Refused, TakeRejected } from "./submit-refusal.tsx";

const previewing = signal(false);
const preview = new Resource<string>();

export const submit: Page = {
  enter: (_match, query) => {
    const id = Number(query.get("project"));
    previewing.value = false;
    loadCategories();
    enterForm(Number.isSafeInteger(id) && id > 0 ? id : null);
    editing.value = query.has("project");
  },
  view: SubmitPage,
  title: () => (editing.value ? f.editTitle : f.submitTitle),
};
const editing = signal(false);

function SubmitPage() {
  if (editing.value && !edited.data.value) return <NotLoaded />;
  if (categories.data.value?.length === 0) return <NoCategories />;
  const project = edited.data.value?.project;
  return (
    <div class="wide">
      <h1>{project ? f.editTitle : f.submitTitle}</h1>
      <p class="lead">{project ? (project.status === "live" ? liveLead() : project.title) : f.submitLead}</p>
      {project?.revision?.submitted_at && (
        <div class="banner pending"><p><strong>{f.changesWait(project.queue_position ?? null)}.</strong> {isAdministrator.value ? f.heldEditAdmin : f.heldEdit}</p></div>
      )}
      {project?.revision && !project.revision.submitted_at && (
        <Refused title={`${f.changesRefused}.`} reason={project.revision.reason}><TakeRejected /></Refused>
      )}
      {project?.status === "rejected" && project.rejection_reason && (
        <Refused title={f.rejectedFor} reason={project.rejection_reason} />
      )}
      {project?.status === "pending" && project.queue_position === null && (
        <Refused title={f.takenDownFor} reason={project.rejection_reason ?? null}><p>{f.takenDownWhat}</p></Refused>
      )}
      <div class="columns turned">
        <Form />
        <aside class="beside">
          <Similar />
          <section class="preview" aria-label={f.previewTitle}><h2>{f.previewTitle}</h2><Preview given={draft.value} /></section>
        </aside>
      </div>
    </div>
  );
}

/** A directory that was just set up takes nothing yet. */
function NoCategories() {
  const isAdmin = isAdministrator.value;
  return (
    <div class="wide">
      <Empty whole title={f.noCategories} why={isAdmin ? f.noCategoriesAdmin : f.noCategoriesWhy}>
        <a class="button" href={isAdmin ? "/admin/categories" : "/"}>{isAdmin ? f.toCategories : t.toDirectory}</a>
      </Empty>
    </div>
  );
}

function liveLead(): string {
  return session.value?.reviewed_fields?.length ? f.liveEdit : f.liveEditNow;
}

function NotLoaded() {
  const failed = edited.problem.value;
  if (failed?.status === 404) {
    return <div class="wide"><Empty whole title={t.projectGone} why={t.projectGoneWhy}><a class="button" href="/mine">{t.yours}</a></Empty></div>;
  }
  return <div class="wide">{failed ? <Failed whole problem={failed} again={() => void edited.again()} /> : <Skeleton rows={3} />}</div>;
}

function Form() {
  const project = edited.data.value?.project;
  const label = project ? (project.status === "rejected" ? f.saveAgain : f.saves[review.value]) : user.value ? f.send : f.sendSignedOut;
  return (
    <form class="grow form" noValidate onSubmit={onSubmit}>
      <Refusal />
      <Both />
      <Text name="url" hint={project ? undefined : f.urlHint} type="url" inputMode="url" placeholder="https://" />
      <Text name="title" />
      <Text name="tagline" hint={f.taglineHint} />
      <CategoryField />
      <CategoriesFailed />
      <Text name="tags" hint={f.tagsHint} optional autocapitalize="none" />
      <Text name="repository_url" type="url" inputMode="url" optional />
      <LogoField />
      <Description />
      {!project && found.data.value?.same.length ? <p class="banner pending" role="status">{f.sameSend}</p> : null}
      <p class="actions">
        <button type="submit" class="button primary" disabled={sending.value || readOnly.value}>{sending.value ? f.busy : label}</button>
        {(project ? isChanged.value : hasText(draft.value)) && (
          <><button type="button" class="link" onClick={discard}>{f.discard}</button><span class="small muted">{f.draftKept}</span></>
        )}
      </p>
    </form>
  );
}

function hasText(given: Draft): boolean {
  return Object.values(given).some((text) => text.trim());
}

function onSubmit(event: SubmitEvent): void {
  event.preventDefault();
  const form = event.currentTarget as HTMLFormElement;
  send(() => focusWrong(form));
}

type TextProps = { name: keyof Draft } & Omit<Parameters<typeof TextField>[0], "name" | "label">;

function Text({ name, ...rest }: TextProps) {
  const value = draft.value[name];
  const most = FORM[name].most;
  const remaining = most && [...value].length > most * 0.7 && most < 2000 ? most - [...value].length : undefined;
  return (
    <TextField {...rest} name={name} label={FORM[name].label} value={value} error={errors.value[name]} left={remaining} autocomplete="off"
      onInput={(event) => write(name, event.currentTarget.value, event.isComposing)}
      onCompositionEnd={(event) => write(name, event.currentTarget.value)} onBlur={() => value && leave(name)} />
  );
}

function CategoryField() {
  const known = categories.data.value ?? [];
  return (
    <Field name="category" label={f.category} error={errors.value.category}>
      {(attributes) => (
        <select {...attributes} name="category" value={draft.value.category} onChange={(event) => write("category", event.currentTarget.value)}>
          <option value="">{f.chooseCategory}</option>
          {known.map((each) => <option key={each.slug} value={each.slug} selected={each.slug === draft.value.category}>{each.name}</option>)}
        </select>
      )}
    </Field>
  );
}

/** Without the categories nothing can be sent: why they are not there, and another try. */
function CategoriesFailed() {
  const problem = categories.problem.value;
  if (!problem || categories.data.value) return null;
  return (
    <div class="banner bad" role="alert">
      <p><strong>{f.categoriesFailed}</strong> {problem.detail}</p>
      <button type="button" class="button small" onClick={loadCategories}>{t.tryAgain}</button>
    </div>
  );
}

function LogoField() {
  const saved = savedLogo();
  return (
    <Field name="logo" label={f.logo} hint={f.logoHint} error={logoFault.value || errors.value.logo} optional>
      {(attributes) => (
        <div class="logo-field">
          {saved && <Monogram name="" logo={saved} />}
          <input {...attributes} type="file" accept={KINDS.join()} onChange={(event) => chooseLogo(event.currentTarget.files?.[0])} />
          {saved && <button type="button" class="link" onClick={() => (logo.value = "remove")}>{f.removeLogo}</button>}
        </div>
      )}
    </Field>
  );
}

function Description() {
  const text = draft.value.description;
  return (
    <Field name="description" label={f.description} hint={f.descriptionHint} error={errors.value.description} optional
      left={text.length > 7000 ? (FORM.description.most ?? 0) - [...text].length : undefined}>
      {(attributes) => (
        <>
          <div class="tabs small">
            <button type="button" aria-pressed={!previewing.value} onClick={() => (previewing.value = false)}>{f.write}</button>
            <button type="button" aria-pressed={previewing.value} onClick={() => showPreview(text)}>{f.preview}</button>
          </div>
          {previewing.value ? <div class="box"><Rendered text={text} /></div>
            : <textarea {...attributes} name="description" rows={10} value={text} onInput={(event) => write("description", event.currentTarget.value)} />}
        </>
      )}
    </Field>
  );
}

/** Have the service render the description as its page will show it. */
function showPreview(text: string): void {
  previewing.value = true;
  void preview.load(text, async (signal) => (await ask(api.POST("/api/markdown", { body: { text }, signal }))).html);
}

function Rendered({ text }: { text: string }) {
  const html = preview.data.value;
  const problem = preview.problem.value;
  if (problem) return <Failed problem={problem} again={() => showPreview(text)} />;
  if (!text) return <p class="muted">{t.noDescription}</p>;
  return html === undefined ? <p class="muted">{t.loading}</p> : <Markdown html={html} />;
}

/** "Is it here already?": projects of the same address or repository, and those with a similar title. */
function Similar() {
  const shown = found.data.value;
  const sharing = shown?.same_repository ?? [];
  if (!shown || !(shown.same.length + sharing.length + shown.similar.length)) return null;
  const own = shown.same.some((each) => each.status !== "live");
  return (
    <section class="similar" role="status">
      {shown.same.length > 0 && <><h2>{f.sameTitle}</h2><p>{own ? f.sameOwn : f.sameOther}</p></>}
      {shown.same.map((each) => <Known key={each.id} project={each} />)}
      {sharing.length > 0 && <><h2>{f.sharingTitle}</h2><p>{f.sharingWhy}</p></>}
      {sharing.map((each) => <Known key={each.id} project={each} />)}
      {shown.similar.length > 0 && <h2>{f.similarTitle}</h2>}
      {shown.similar.map((each) => <Known key={each.id} project={each} />)}
    </section>
  );
}

function Known({ project }: { project: NonNullable<typeof found.data.value>["same"][number] }) {
  const { id, slug, title, tagline, status } = project;
  return (
    <article class="row short">
      <div class="grow">
        <h3 dir="auto"><a href={`/p/${id}/${slug}`}>{title}</a></h3>
        <p class="tagline" dir="auto">{tagline}</p>
        {status !== "live" && <span class={`badge ${status}`}>{t.states[status as "pending"]}</span>}
      </div>
      {status === "live" && <VoteButton project={project} />}
    </article>
  );
}
