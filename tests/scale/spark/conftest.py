"""One session and one cluster for all tests that need them, which skip where Spark cannot run."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from rankjury.errors import RankjuryError
from rankjury.scale.spark.session import check_java, check_libraries, open_session
from tests.scale.spark.cluster import JAVA_OPTIONS, SETTINGS, Cluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUICK = {**SETTINGS, "spark.driver.extraJavaOptions": JAVA_OPTIONS}


@pytest.fixture(scope="session")
def can_run_spark() -> None:
    try:
        check_libraries()
        check_java()
    except RankjuryError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def spark(can_run_spark: None) -> Iterator["SparkSession"]:
    with open_session("local[2]", settings=QUICK) as session:
        yield session


@pytest.fixture(scope="session")
def started_cluster(can_run_spark: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if sys.platform != "linux":
        pytest.skip("the cluster's processes are looked for in /proc")
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        yield made
    finally:
        made.stop()


@pytest.fixture
def cluster(started_cluster: Cluster) -> Cluster:
    """With all its workers, whatever became of them in the test before."""
    started_cluster.fill_up()
    return started_cluster
