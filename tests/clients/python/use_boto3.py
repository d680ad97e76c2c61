"""An object of an S3 bucket by boto3, which signs what it asks."""

import urllib.parse

import boto3
from ask import each
from botocore.config import Config

CONFIG = Config(s3={"addressing_style": "path"}, retries={"total_max_attempts": 1}, connect_timeout=10, read_timeout=10)


def get(url):
    where = urllib.parse.urlsplit(url)
    _, bucket, key = where.path.split("/")
    client = boto3.client(
        "s3",
        endpoint_url=f"{where.scheme}://{where.netloc}",
        region_name="eu-central-1",
        aws_access_key_id="none",
        aws_secret_access_key="none",
        config=CONFIG,
    )
    found = client.get_object(Bucket=bucket, Key=key)
    return found["ResponseMetadata"]["HTTPStatusCode"], found["Body"].read().decode()


each(get)
