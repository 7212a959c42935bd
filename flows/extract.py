"""The Prefect flow over folders and mailboxes; it retries a batch that fails."""

# Annotations stay values here: a served flow goes to its process as a pickle, and names that only annotations use are
# not defined in it ("Extract_FolderModel is not fully defined").
from pathlib import Path
from typing import Any

# First, because it sets the environment that Prefect reads on import.
from cinnabar.flows.tasks import work_on

from cinnabar.flows.ending import ends_in_words, tell_end  # isort: skip
from prefect import flow, get_run_logger  # isort: skip

from cinnabar.extraction.batched_run import Summary
from cinnabar.extraction.cluster.connection import joined
from cinnabar.extraction.inputs import located
from cinnabar.extraction.parser_settings import passwords_in
from cinnabar.extraction.quality.kept_models import model_for
from cinnabar.extraction.routing.routing import routing_of
from cinnabar.extraction.run import Extraction
from cinnabar.extraction.run_options import Device, RunOptions
from cinnabar.extraction.sources import DEFAULT_BELOW, check_models, escalation_of, model_source, settings_of
from cinnabar.extraction.storage.local_paths import check_local
from cinnabar.flows.artifacts import Artifacts
from cinnabar.flows.output_lock import begun_alone
from cinnabar.flows.parameters import FailOn, Seconds, Server, Share, check_given, takes_run_options
from cinnabar.flows.prefect_server import check_limit, secret
from cinnabar.schemas import load_schema


@flow(name="extract-folder", flow_run_name="{record_schema} into {out}", persist_result=False)
@ends_in_words
@takes_run_options(*RunOptions.model_fields)
def extract_folder(
    paths: list[str],
    record_schema: str | list[str],
    out: str,
    model: str | None = None,
    device: Device = "auto",
    max_error_rate: Share | None = None,
    fail_on: FailOn | None = None,
    remote: Server | None = None,
    related: Share | None = None,
    escalate_to: str | None = None,
    below: Share = DEFAULT_BELOW,
    password_block: str | None = None,
    document_password_block: str | None = None,
    gpu_limit: str | None = None,
    ray: str | None = None,
    wait: Seconds = 3600,
    **said: Any,
) -> Summary:
    """Extracts records from all documents of these files, folders and mailboxes into the folder `out`.

    Documents that an earlier run read are skipped. A batch that fails three times fails the run. Committed records
    stay, and the next run continues from there. Returns the fields of `extraction.batched_run.Summary`.

    Args:
        paths: Files, folders, mbox files, Maildir folders, and imaps://USER@HOST/MAILBOX.
        record_schema: A name of the library, the path of a JSON Schema, or module:Class; of a list of these each
            document gets the one that fits, or none.
        out: The folder for the results. One run at a time writes to it.
        model: `default`, the folder of a model or of a language model, mercury-2, or openai:NAME; without it the one
            that `cinnabar improve --keep` took into use, if there is one.
        device: The device of the model; auto takes a GPU if there is one.
        max_error_rate: The run fails if a larger share of the documents read is in quarantine, or skipped as empty.
        fail_on: drift: the run fails if it differs from earlier runs by more than chance.
        remote: The settings for a model behind a server.
        related: The probability of being of a schema's kind below which a document is skipped.
        escalate_to: The model for fields with a low confidence: a language model's folder, mercury-2 or openai:NAME.
        below: The confidence below which a field is escalated.
        password_block: The Secret block with the mailbox's password, instead of CINNABAR_IMAP_PASSWORD.
        document_password_block: The Secret block with passwords of encrypted documents, one a line.
        gpu_limit: The global concurrency limit; each task takes one slot of it.
        ray: A Ray cluster for the work, in one task: auto, HOST:PORT or local.
        wait: Seconds to wait for another run that is writing to `out`; 0 refuses at once.
    """
    check_given(paths=paths, record_schema=record_schema, out=out)
    check_local(out, "out")
    options = RunOptions(**said)
    if document_password_block is not None:
        options = options.with_passwords(passwords_in(secret(document_password_block)()))
    sources = [load_schema(one) for one in ([record_schema] if isinstance(record_schema, str) else record_schema)]
    model = model_for(Path(out), [source.name for source in sources], model)
    routing = routing_of(sources, len(sources) > 1, related, model)
    server = remote or Server()
    check_models(model, escalate_to, None, options.steps, server.model_dump(exclude_unset=True))
    settings = settings_of(server.model_dump(exclude_none=True) | {"context": options.context})
    escalation = escalation_of(escalate_to, below, settings, device)
    chosen = model_source(model, device, settings)
    locations = located(paths, *([secret(password_block)] if password_block else []))
    if gpu_limit is not None:
        check_limit(gpu_limit)
    artifacts = Artifacts(f"{', '.join(source.name for source in sources)} into {out}")
    with (
        artifacts,
        joined(ray, chosen, escalation, engines=options.engines, gpu_limit=gpu_limit) as cluster,
        begun_alone(
            lambda: Extraction(locations, sources[0], Path(out), chosen, options, artifacts, escalation, routing),
            wait,
            get_run_logger().warning,
        ) as extraction,
    ):
        work_on(extraction, cluster, gpu_limit)
        summary = extraction.finish()
    if not summary.inputs:
        get_run_logger().info("nothing to do: there is no file to read")
    tell_end(summary, artifacts, max_error_rate, fail_on)
    return summary
