"""Fit a table on Spark, and make synthetic trips there.

Run it with Spark installed, pip install 'privtrace[spark]' and Java 17: python examples/spark.py [FOLDER]
"""

# %% The data: here an invented city's, in your case a table in your lake.
import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

import privtrace as pt
from privtrace.datasets import city_trips

folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
folder.mkdir(parents=True, exist_ok=True)
city = city_trips(5_000, seed=1)
city.trajectories.write(folder / "trips.parquet", force=True)
region = pt.Region.box(*city.region)  # public: chosen without looking at the data

# %% Your session. In a notebook it is there already; privtrace never makes one.
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
trips = spark.read.parquet(str(folder / "trips.parquet"))

# %% The fit. Three passes over the table, each one job: counts come back, and get their noise here.
method = pt.BridgeTrace(epsilon=1, region=region, unit="user", max_per_user=5)
model = method.fit(trips)
model.save(folder / "city.model", force=True)
print(model)

# %% How a table is read can be said, as for files. Times of these trips are local times of Berlin.
source = pt.read(trips, columns={"user_id": "user_id", "traj_id": "traj_id"}, timezone="Europe/Berlin")
print(pt.PrivTrace(epsilon=1, region=region).fit(source))

# %% The same rows in a file give the same model, byte for byte: seeded noise shows it, and protects nobody.
there = method.fit(trips, noise=pt.SeededNoise(1))
here = method.fit(folder / "trips.parquet", noise=pt.SeededNoise(1))
print("the same model:", there.checksum == here.checksum)

# %% Synthetic trips, made on the cluster. Trip i is the one that model.sample makes with this seed.
synthetic = model.sample_spark(spark, 20_000, seed=7)
synthetic.write.mode("overwrite").parquet(str(folder / "synthetic"))
print(f"{spark.read.parquet(str(folder / 'synthetic')).select('traj_id').distinct().count():,} trips")

spark.stop()
